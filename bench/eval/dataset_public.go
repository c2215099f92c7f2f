package eval

import (
	"bytes"
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

// locomoSample is a conversation of LoCoMo, as published. Gold is turns; category 5 is unanswerable. Misspelled
// evidence is repaired if it is unambiguous. The turn that shared an image has its caption.
type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string          `json:"question"`
		Answer   json.RawMessage `json:"answer"`
		Evidence []string        `json:"evidence"`
		Category int             `json:"category"`
	} `json:"qa"`
	Observation map[string]map[string][][]json.RawMessage `json:"observation"`
}

// locomoKinds are the names of LoCoMo's categories.
var locomoKinds = []string{"", "1 multi-hop", "2 temporal", "3 open-domain", "4 single-hop", "5 adversarial"}

func (s locomoSample) conversations(string) ([]Conversation, error) {
	c, err := s.conversation()
	return []Conversation{c}, err
}

func (s locomoSample) conversation() (Conversation, error) {
	c := Conversation{Name: s.ID}
	var sessions []int // some have a date but no turns
	for key := range s.Conversation {
		digits, ok := strings.CutPrefix(key, "session_")
		if n, err := strconv.Atoi(digits); ok && err == nil {
			sessions = append(sessions, n)
		}
	}
	slices.Sort(sessions)
	for _, n := range sessions {
		if err := s.session(&c, fmt.Sprintf("session_%d", n)); err != nil {
			return c, fmt.Errorf("locomo %s: %w", s.ID, err)
		}
	}
	if len(c.Turns) == 0 {
		return c, fmt.Errorf("locomo %s: no sessions", s.ID)
	}
	for i, q := range s.QA {
		question := Question{
			ID: fmt.Sprint(s.ID, ":", i), Text: q.Question, Answer: plain(q.Answer),
			Category: locomoKinds[min(max(0, q.Category), 5)], Unanswerable: q.Category == 5,
		}
		if !question.Unanswerable {
			question.Gold = c.evidence(q.Evidence)
		}
		c.ask(question, c.has)
	}
	return c, nil
}

func (s locomoSample) session(c *Conversation, session string) error {
	var date string
	if err := json.Unmarshal(s.Conversation[session+"_date_time"], &date); err != nil {
		return fmt.Errorf("date of %s: %w", session, err)
	}
	at, err := time.Parse("3:04 pm on 2 January, 2006", date)
	if err != nil {
		return fmt.Errorf("date of %s: %w", session, err)
	}
	var messages []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	if err := json.Unmarshal(s.Conversation[session], &messages); err != nil {
		return fmt.Errorf("%s: %w", session, err)
	}
	for i, m := range messages {
		content := m.Text
		if m.Caption != "" {
			content += " [" + m.Caption + "]"
		}
		at := at.Add(time.Duration(i) * time.Second)
		c.Turns = append(c.Turns, Turn{m.ID, session, memory.RoleUser, m.Speaker, content, at})
	}
	return nil
}

// plain returns an answer as text: the value of a string, or the JSON of another value.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil { // null is none
		return s
	}
	return string(raw)
}

// evidence returns the named turns, without duplicates. Some strings name several ("D8:6; D9:17") or are misspelled
// ("D:11:26", "D30:05").
func (c *Conversation) evidence(named []string) (gold []string) {
	for _, field := range named {
		pieces := strings.FieldsFunc(field, func(r rune) bool { return r == ';' || r == ',' || unicode.IsSpace(r) })
		for _, ref := range pieces {
			if m := oddRef.FindStringSubmatch(ref); m != nil && !c.has(ref) {
				ref = "D" + m[1] + ":" + m[2]
			}
			gold = append(gold, ref)
		}
	}
	return gold
}

// oddRef matches a turn's id with an extra colon or leading zeros.
var oddRef = lazy.Compile(`^[Dd]:?0*([0-9]+):0*([0-9]+)$`)

// beamChat is a chat of the BEAM benchmark. Gold is messages, and a group of messages about one thing is a session.
// Questions of the kind abstention are unanswerable.
type beamChat struct {
	ChatID any `json:"chat_id"`
	Chat   []struct {
		Batch  int    `json:"batch_number"`
		Anchor string `json:"time_anchor"`
		Turns  [][]struct {
			Role    memory.Role `json:"role"`
			ID      int         `json:"id"`
			Anchor  string      `json:"time_anchor"`
			Content string      `json:"content"`
		} `json:"turns"`
	} `json:"chat"`
	Probing map[string][]struct {
		Question string          `json:"question"`
		Source   json.RawMessage `json:"source_chat_ids"`
	} `json:"probing_questions"`
}

func (b beamChat) conversations(string) ([]Conversation, error) {
	c := Conversation{Name: fmt.Sprint(b.ChatID)}
	var at time.Time
	for _, batch := range b.Chat {
		for i, group := range batch.Turns {
			session := fmt.Sprint(batch.Batch, ".", i)
			for _, m := range group {
				for _, anchor := range []string{batch.Anchor, m.Anchor} {
					if t, err := time.Parse("January-02-2006", anchor); err == nil && t.After(at) {
						at = t
					}
				}
				content, _, _ := strings.Cut(m.Content, " ->-> ") // the generator's tag
				c.Turns = append(c.Turns, Turn{fmt.Sprint(m.ID), session, m.Role, "", content, at})
			}
		}
	}
	for _, kind := range sortedKeys(b.Probing) {
		for i, p := range b.Probing[kind] {
			q := Question{ID: fmt.Sprint(c.Name, ":", kind, ":", i), Text: p.Question, Category: kind}
			if q.Unanswerable = kind == "abstention"; !q.Unanswerable {
				q.Gold = numbersIn(p.Source)
			}
			c.ask(q, c.has)
		}
	}
	return []Conversation{c}, nil
}

// numbersIn returns all numbers in a JSON list of ids or an object of such lists, without duplicates.
func numbersIn(raw json.RawMessage) (out []string) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err != nil {
			return distinct(out)
		}
		if n, ok := tok.(json.Number); ok {
			out = append(out, n.String())
		}
	}
}

// realMemPersona is one persona of RealMem. Gold is sessions. A question is asked before its own session, and only
// earlier sessions are gold.
type realMemPersona struct {
	Dialogues []struct {
		Session string `json:"session_uuid"`
		Time    string `json:"current_time"`
		Turns   []struct {
			Speaker string   `json:"speaker"`
			Content string   `json:"content"`
			Query   bool     `json:"is_query"`
			Gold    []string `json:"memory_session_uuids"`
		} `json:"dialogue_turns"`
		Memory []struct {
			Content string `json:"content"`
			Role    string `json:"source_role_snapshot"`
		} `json:"extracted_memory"`
	} `json:"dialogues"`
}

func (p realMemPersona) conversations(name string) ([]Conversation, error) {
	return []Conversation{p.conversation(name)}, nil
}

func (p realMemPersona) conversation(name string) Conversation {
	c := Conversation{Name: name, Sessions: true}
	earlier := map[string]bool{}
	for _, d := range p.Dialogues {
		before := len(c.Turns)
		day, _, _ := strings.Cut(d.Time, " ")
		at, _ := time.Parse(time.DateOnly, day)
		asked := ""
		for _, t := range d.Turns {
			place, role := fmt.Sprint(len(c.Turns)), memory.RoleUser
			if t.Speaker == "Assistant" {
				role = memory.RoleAssistant
			}
			if asked != "" && role == memory.RoleAssistant {
				q := Question{ID: name + ":" + place, Text: asked, Category: "query", Gold: t.Gold, Before: before}
				c.ask(q, func(session string) bool { return earlier[session] })
			}
			asked = ""
			if t.Query {
				asked = t.Content
			}
			c.Turns = append(c.Turns, Turn{Ref: place, Session: d.Session, Role: role, Content: t.Content, At: at})
		}
		earlier[d.Session] = true
	}
	return c
}
