package bench

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// locomoKinds names LoCoMo's categories.
var locomoKinds = map[int]string{1: "1 multi-hop", 2: "2 temporal", 3: "3 open-domain", 4: "4 single-hop", 5: "5 adversarial"}

// LoCoMo reads the conversations of LoCoMo, as published or a part of them. Gold
// is turns. Of the questions those of categories 1 to 4 with at least one turn of
// evidence are kept; evidence that names no turn is left out. A caption of an
// image stands in the turn that shared it.
func LoCoMo(path string) (Dataset, error) {
	data, err := readFile(path)
	if err != nil {
		return Dataset{}, fmt.Errorf("read locomo: %w", err)
	}
	set, err := parseLoCoMo(data)
	if err != nil {
		return Dataset{}, fmt.Errorf("read %s: %w", path, err)
	}
	return set, nil
}

func parseLoCoMo(data []byte) (Dataset, error) {
	var samples []locomoSample
	if err := json.Unmarshal(data, &samples); err != nil {
		return Dataset{}, fmt.Errorf("locomo: %w", err)
	}
	set := Dataset{Name: "LoCoMo"}
	for _, s := range samples {
		c, err := s.read()
		if err != nil {
			return Dataset{}, fmt.Errorf("locomo %s: %w", s.ID, err)
		}
		set.Conversations = append(set.Conversations, c)
	}
	return set, nil
}

type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

func (s locomoSample) read() (Conversation, error) {
	c := Conversation{Name: s.ID}
	for n := 1; ; n++ {
		session := fmt.Sprintf("session_%d", n)
		raw, ok := s.Conversation[session]
		if !ok {
			if n == 1 {
				return c, memory.Errorf(memory.Invalid, "no session_1")
			}
			break
		}
		turns, err := readSession(session, raw, s.Conversation[session+"_date_time"])
		if err != nil {
			return c, err
		}
		c.Turns = append(c.Turns, turns...)
	}
	for _, q := range s.QA {
		gold := evidence(q.Evidence, c.Turns)
		if q.Category <= 4 && len(gold) > 0 {
			c.Questions = append(c.Questions, Question{Text: q.Question, Category: locomoKinds[q.Category], Gold: gold})
		}
	}
	return c, nil
}

func readSession(session string, raw, date json.RawMessage) ([]Turn, error) {
	var said string
	if err := json.Unmarshal(date, &said); err != nil {
		return nil, fmt.Errorf("date of %s: %w", session, err)
	}
	at, err := time.Parse("3:04 pm on 2 January, 2006", said)
	if err != nil {
		return nil, fmt.Errorf("date of %s: %w", session, err)
	}
	var messages []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, fmt.Errorf("%s: %w", session, err)
	}
	var turns []Turn
	for i, m := range messages {
		content := m.Text
		if m.Caption != "" {
			content += " [" + m.Caption + "]"
		}
		turns = append(turns, Turn{
			Ref: m.ID, Session: session, Role: memory.RoleUser, Name: m.Speaker, Content: content,
			At: at.Add(time.Duration(i) * time.Second),
		})
	}
	return turns, nil
}

// evidence returns the turns that evidence names, each once. Several may stand in
// one string.
func evidence(named []string, turns []Turn) []string {
	var out []string
	for _, field := range named {
		for _, ref := range strings.FieldsFunc(field, func(r rune) bool { return r == ';' || r == ',' || r == ' ' }) {
			known := slices.ContainsFunc(turns, func(t Turn) bool { return t.Ref == ref })
			if known && !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
	}
	return out
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
