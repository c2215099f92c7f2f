package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// locomoKinds names LoCoMo's categories.
var locomoKinds = map[int]string{1: "1 multi-hop", 2: "2 temporal", 3: "3 open-domain", 4: "4 single-hop", 5: "5 adversarial"}

// LoCoMo reads the conversations of LoCoMo, as published or a part of them. Gold
// is turns. The questions are those of categories 1 to 4; the adversarial ones of
// category 5 cannot be answered. Evidence that is written wrong is repaired where
// only one turn can be meant. A caption of an image stands in the turn that shared
// it.
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
		Question string          `json:"question"`
		Answer   json.RawMessage `json:"answer"`
		Evidence []string        `json:"evidence"`
		Category int             `json:"category"`
	} `json:"qa"`
}

func (s locomoSample) read() (Conversation, error) {
	c := Conversation{Name: s.ID}
	for _, n := range s.sessions() {
		session := fmt.Sprintf("session_%d", n)
		turns, err := readSession(session, s.Conversation[session], s.Conversation[session+"_date_time"])
		if err != nil {
			return c, err
		}
		c.Turns = append(c.Turns, turns...)
	}
	if len(c.Turns) == 0 {
		return c, memory.Errorf(memory.Invalid, "no sessions")
	}
	known := map[string]bool{}
	for _, t := range c.Turns {
		known[t.Ref] = true
	}
	for i, q := range s.QA {
		question := Question{ID: fmt.Sprint(s.ID, ":", i), Text: q.Question, Category: locomoKinds[q.Category], Answer: plain(q.Answer)}
		if q.Category == 5 {
			c.Unanswerable = append(c.Unanswerable, question)
			continue
		}
		gold, repaired, excluded := evidence(q.Evidence, known)
		c.Repaired += repaired
		c.Excluded += excluded
		question.Gold = gold
		c.ask(question)
	}
	return c, nil
}

// sessions returns the numbers of the sessions, rising. Some are dated but not
// there.
func (s locomoSample) sessions() []int {
	var out []int
	for key := range s.Conversation {
		digits, ok := strings.CutPrefix(key, "session_")
		if n, err := strconv.Atoi(digits); ok && err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
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

// evidence returns the turns that evidence names, each once, and how many ids had
// to be repaired or excluded. Repaired are those that share a string with others
// ("D8:6; D9:17") or are spelled oddly ("D:11:26", "D30:05"), and name a turn when
// set right; excluded are those that name no turn even so.
func evidence(named []string, known map[string]bool) (gold []string, repaired, excluded int) {
	for _, field := range named {
		pieces := strings.FieldsFunc(field, func(r rune) bool { return r == ';' || r == ',' || unicode.IsSpace(r) })
		for _, piece := range pieces {
			ref := piece
			if m := spelled.FindStringSubmatch(piece); m != nil && !known[ref] {
				ref = "D" + m[1] + ":" + m[2]
			}
			switch {
			case !known[ref]:
				excluded++
				continue
			case ref != field:
				repaired++
			}
			if !slices.Contains(gold, ref) {
				gold = append(gold, ref)
			}
		}
	}
	return gold, repaired, excluded
}

// spelled is a turn's id with a colon too many or zeros in front.
var spelled = lazy.Compile(`^[Dd]:?0*([0-9]+):0*([0-9]+)$`)

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
