package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Lesson is talk of one user and what should be known after it.
type Lesson struct {
	Name  string
	Turns []Turn
	Gold  []GoldFact
	// Wrong are statements that must not be remembered: a fact that says one of them more than what
	// is gold or extra is junk, and counted as wrong besides. One that begins "User" is only said by
	// facts about the user.
	Wrong []string
	// Extra are statements that may be remembered: they count neither as found nor as junk.
	Extra []string
}

// GoldFact is a statement worth remembering.
type GoldFact struct {
	Text     string
	Or       []string // the same in other words
	Subject  string   // a word of whom it is about, "user" for the user; "": any will do
	Replaces int      // place in Gold of what it takes the place of, -1 for nothing
}

// lessonReaders are the formats of [OpenLearn].
var lessonReaders = map[string]reader[Lesson]{
	"jsonl":   eachValue(ownLesson.lessons),
	"locomo":  eachValue(locomoSample.lessons),
	"realmem": eachValue(realMemPersona.lessons),
}

// OpenLearn reads the first limit lessons (0: all) of files in a format. [memory.Invalid] for
// another format, or where there is no gold.
func OpenLearn(format string, limit int, files ...string) ([]Lesson, error) {
	return open(lessonReaders, format, limit, files, func(l Lesson) bool { return len(l.Gold) > 0 })
}

// ownLesson is a lesson of one's own: see the help of locibench learn.
type ownLesson struct {
	ID    string `json:"id"`
	Turns []Turn `json:"turns"`
	Gold  []struct {
		Text     string   `json:"text"`
		Or       []string `json:"or"`
		Subject  string   `json:"subject"`
		Turn     int      `json:"turn"`     // where it is said, for people
		Replaces *int     `json:"replaces"` // place of an earlier one
	} `json:"gold"`
	JunkOK []string `json:"junk_ok"`
	Wrong  []string `json:"wrong"`
}

func (o ownLesson) lessons(string) ([]Lesson, error) {
	l := Lesson{Name: o.ID, Extra: o.JunkOK, Wrong: o.Wrong}
	for _, t := range o.Turns {
		l.Turns = append(l.Turns, t.own())
	}
	if len(l.Turns) == 0 {
		return nil, errors.New("turns: is empty")
	}
	for i, g := range o.Gold {
		fact := GoldFact{Text: g.Text, Or: g.Or, Subject: g.Subject, Replaces: -1}
		if g.Replaces != nil {
			fact.Replaces = *g.Replaces
		}
		if g.Text == "" || g.Replaces != nil && (fact.Replaces < 0 || fact.Replaces >= i) {
			return nil, fmt.Errorf("gold %d: %q is empty, or no earlier one is %d", i, g.Text, fact.Replaces)
		}
		l.Gold = append(l.Gold, fact)
	}
	return []Lesson{l}, nil
}

// lessons makes two lessons of a conversation, one for each speaker: what that speaker says is the
// user's, what the other says the assistant's, and the gold is the observations about the user,
// whose name stands as "User" in them.
func (s locomoSample) lessons(string) (out []Lesson, err error) {
	c, err := s.conversation()
	if err != nil {
		return nil, err
	}
	for _, speaker := range c.speakers() {
		l := Lesson{Name: s.ID + " " + speaker}
		for _, t := range c.Turns {
			if t.Name != speaker {
				t.Role = memory.RoleAssistant
			}
			t.Name = ""
			l.Turns = append(l.Turns, t)
		}
		for _, session := range sortedKeys(s.Observation) {
			for _, o := range s.Observation[session][speaker] {
				var words string
				if len(o) > 1 && json.Unmarshal(o[0], &words) == nil { // what is spelled otherwise is left out
					words = strings.ReplaceAll(words, speaker, "User")
					l.Gold = append(l.Gold, GoldFact{Text: words, Replaces: -1})
				}
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// lessons makes a lesson of a persona. Gold is the memories extracted from the user's turns; those
// extracted from the assistant's may be remembered.
func (p realMemPersona) lessons(name string) ([]Lesson, error) {
	l := Lesson{Name: name, Turns: p.conversation(name).Turns}
	seen := map[string]bool{}
	for _, d := range p.Dialogues {
		for _, m := range d.Memory {
			_, words, labelled := strings.Cut(m.Content, "】")
			if !labelled {
				words = m.Content
			}
			words = strings.TrimSpace(words)
			if words == "" || seen[words] {
				continue
			}
			seen[words] = true
			if m.Role == "User" {
				l.Gold = append(l.Gold, GoldFact{Text: words, Replaces: -1})
			} else {
				l.Extra = append(l.Extra, words)
			}
		}
	}
	return []Lesson{l}, nil
}
