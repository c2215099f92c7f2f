package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// LongMemEval reads the first limit questions of LongMemEval (0: all), as
// published: a JSON list. Each has a haystack of its own and so is a conversation.
// Gold is the turns marked as having the answer and, apart from them, the answer's
// sessions; questions whose ids end in _abs cannot be answered.
func LongMemEval(path string, limit int) (Dataset, error) {
	f, err := openFile(path)
	if err != nil {
		return Dataset{}, fmt.Errorf("read longmemeval: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	set, err := parseLongMemEval(f, limit)
	if err != nil {
		return Dataset{}, fmt.Errorf("read %s: %w", path, err)
	}
	return set, nil
}

// parseLongMemEval reads question by question, since the files are large.
func parseLongMemEval(in io.Reader, limit int) (Dataset, error) {
	set := Dataset{Name: "LongMemEval"}
	dec := json.NewDecoder(in)
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		return set, errors.Join(memory.Errorf(memory.Invalid, "longmemeval: not a list"), err)
	}
	for dec.More() && (limit == 0 || len(set.Conversations) < limit) {
		var q haystack
		if err := dec.Decode(&q); err != nil {
			return set, fmt.Errorf("longmemeval: question %d: %w", len(set.Conversations)+1, err)
		}
		c, err := q.conversation()
		if err != nil {
			return set, fmt.Errorf("longmemeval: question %s: %w", q.ID, err)
		}
		set.Conversations = append(set.Conversations, c)
	}
	return set, nil
}

// longMemEvalDate is how LongMemEval writes dates.
const longMemEvalDate = "2006/01/02 (Mon) 15:04"

type haystack struct {
	ID       string          `json:"question_id"`
	Type     string          `json:"question_type"`
	Question string          `json:"question"`
	Reply    json.RawMessage `json:"answer"`
	Asked    string          `json:"question_date"`
	Names    []string        `json:"haystack_session_ids"`
	Dates    []string        `json:"haystack_dates"`
	Sessions [][]struct {
		Role      memory.Role `json:"role"`
		Content   string      `json:"content"`
		HasAnswer bool        `json:"has_answer"`
	} `json:"haystack_sessions"`
	Answer []string `json:"answer_session_ids"`
}

func (h haystack) conversation() (Conversation, error) {
	c := Conversation{Name: h.ID}
	if h.ID == "" || len(h.Names) != len(h.Sessions) || len(h.Dates) != len(h.Sessions) {
		return c, memory.Errorf(memory.Invalid, "an id, and as many session ids (%d) and dates (%d) as sessions (%d), are needed",
			len(h.Names), len(h.Dates), len(h.Sessions))
	}
	var gold []string
	known, said := map[string]bool{}, map[string]int{}
	for i, session := range h.Sessions {
		name := h.Names[i]
		known[name] = true
		at, err := time.Parse(longMemEvalDate, h.Dates[i])
		if err != nil {
			return c, fmt.Errorf("date of session %s: %w", name, err)
		}
		for _, m := range session {
			said[name]++
			t := Turn{Ref: fmt.Sprint(name, "_", said[name]), Session: name, Role: m.Role, Content: m.Content}
			t.At = at.Add(time.Duration(said[name]) * time.Second)
			if c.Turns = append(c.Turns, t); m.HasAnswer {
				gold = append(gold, t.Ref)
			}
		}
	}
	q := Question{ID: h.ID, Text: h.Question, Category: h.Type, Answer: plain(h.Reply)}
	q.At, _ = time.Parse(longMemEvalDate, h.Asked) // it may be missing
	if strings.HasSuffix(h.ID, "_abs") {
		c.Unanswerable = []Question{q}
		return c, nil
	}
	q.Gold, q.Sessions = gold, c.only(h.Answer, known)
	c.ask(q)
	return c, nil
}
