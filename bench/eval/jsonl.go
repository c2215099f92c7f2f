package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/loci-memory/loci/memory"
)

// JSONL reads a data set of one's own: a JSON object a line, blank lines aside.
//
//	{"type":"turn","conversation":"c1","session":"s1","id":"t1","role":"user","name":"Mira","content":"I row.","at":"2024-03-03T07:05:00Z"}
//	{"type":"question","conversation":"c1","id":"q1","question":"What does Mira do?","category":"hobbies","answer":"She rows.","gold":["t1"]}
//	{"type":"question","conversation":"c1","question":"What does Mira drive?","unanswerable":true}
//
// Of a turn only id and content must be there: without a role it is the user's,
// without a session or conversation it belongs to the only one. A question needs
// its text, and gold (ids of turns), gold_sessions, or unanswerable; answer is the
// right one, which [Ask] needs, and at is when it is asked. It is asked
// when all of its conversation is known or, with before (the id of a turn), what
// stands above that turn. Ids are unique within a conversation. [memory.Invalid],
// with the line, for anything else.
func JSONL(path string) (Dataset, error) {
	f, err := openFile(path)
	if err != nil {
		return Dataset{}, fmt.Errorf("read jsonl: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	set, err := parseJSONL(f)
	if err != nil {
		return Dataset{}, fmt.Errorf("read %s: %w", path, err)
	}
	return set, nil
}

// jsonLine is a turn or a question.
type jsonLine struct {
	Type         string `json:"type"`
	Conversation string `json:"conversation"`
	ID           string `json:"id"`

	Session string      `json:"session"`
	Role    memory.Role `json:"role"`
	Name    string      `json:"name"`
	Content string      `json:"content"`
	At      time.Time   `json:"at"`

	Question     string   `json:"question"`
	Category     string   `json:"category"`
	Answer       string   `json:"answer"`
	Gold         []string `json:"gold"`
	GoldSessions []string `json:"gold_sessions"`
	Before       string   `json:"before"`
	Unanswerable bool     `json:"unanswerable"`
}

// ownSet is a data set in the making.
type ownSet struct {
	conversations []*Conversation
	byName        map[string]*Conversation
	asked         map[*Conversation][]jsonLine
}

func parseJSONL(in io.Reader) (Dataset, error) {
	s := ownSet{byName: map[string]*Conversation{}, asked: map[*Conversation][]jsonLine{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := s.line(lines.Bytes()); err != nil {
			return Dataset{}, memory.Errorf(memory.Invalid, "line %d: %v", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Dataset{}, err
	}
	set := Dataset{Name: "jsonl"}
	for _, c := range s.conversations {
		if err := s.questions(c); err != nil {
			return Dataset{}, err
		}
		set.Conversations = append(set.Conversations, *c)
	}
	return set, nil
}

func (s *ownSet) line(data []byte) error {
	l := jsonLine{Role: memory.RoleUser, Session: "1"}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return err
	}
	c := s.byName[l.Conversation]
	if c == nil {
		c = &Conversation{Name: l.Conversation}
		s.byName[l.Conversation] = c
		s.conversations = append(s.conversations, c)
	}
	switch {
	case l.Type == "turn" && l.ID != "" && l.Content != "":
		if l.Role != memory.RoleUser && l.Role != memory.RoleAssistant {
			return memory.Errorf(memory.Invalid, "role %q: valid are user and assistant", l.Role)
		}
		c.Turns = append(c.Turns, Turn{Ref: l.ID, Session: l.Session, Role: l.Role, Name: l.Name, Content: l.Content, At: l.At})
	case l.Type == "question" && l.Question != "":
		s.asked[c] = append(s.asked[c], l)
	default:
		return memory.Errorf(memory.Invalid, `give "type":"turn" with id and content, or "type":"question" with question`)
	}
	return nil
}

// questions reads what is asked of a conversation, when all its turns are there.
func (s *ownSet) questions(c *Conversation) error {
	places, turns, sessions := map[string]int{}, map[string]bool{}, map[string]bool{}
	for i, t := range c.Turns {
		if turns[t.Ref] {
			return memory.Errorf(memory.Invalid, "conversation %q: two turns have the id %q", c.Name, t.Ref)
		}
		places[t.Ref], turns[t.Ref], sessions[t.Session] = i, true, true
	}
	ids := map[string]bool{}
	for i, l := range s.asked[c] {
		q := Question{ID: l.ID, Text: l.Question, Category: l.Category, Answer: l.Answer, At: l.At}
		if q.ID == "" {
			q.ID = fmt.Sprint(c.Name, ":", i+1)
		}
		if ids[q.ID] {
			return memory.Errorf(memory.Invalid, "conversation %q: two questions have the id %q", c.Name, q.ID)
		}
		ids[q.ID] = true
		if l.Before != "" {
			if q.Before = places[l.Before]; q.Before == 0 {
				return memory.Errorf(memory.Invalid, "question %q: nothing is known before %q", q.ID, l.Before)
			}
		}
		if l.Unanswerable {
			c.Unanswerable = append(c.Unanswerable, q)
			continue
		}
		q.Gold, q.Sessions = c.only(l.Gold, turns), c.only(l.GoldSessions, sessions)
		c.ask(q)
	}
	return nil
}
