package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Lesson is talk of one user and what should be known after it. The help of locibench learn has its
// form in JSON.
type Lesson struct {
	Name  string     `json:"id"`
	Turns []Turn     `json:"turns"`
	Gold  []GoldFact `json:"gold"`
	// Wrong are statements that must not be remembered: a fact that says one of them more than what
	// is gold or extra is junk, and counted as wrong besides. One that begins "User" is only said by
	// facts about the user.
	Wrong []string `json:"wrong"`
	// Extra are statements that may be remembered: they count neither as found nor as junk.
	Extra []string `json:"junk_ok"`
}

// GoldFact is a statement worth remembering.
type GoldFact struct {
	Text     string   `json:"text"`
	Or       []string `json:"or"`       // the same in other words
	Subject  string   `json:"subject"`  // a word of whom it is about, "user" for the user; "": any will do
	Replaces *int     `json:"replaces"` // place in Gold of what it takes the place of
}

// lessonReaders are the formats of [OpenLearn].
var lessonReaders = map[string]reader[Lesson]{
	"jsonl":   eachValue(Lesson.own),
	"locomo":  eachValue(locomoSample.lessons),
	"realmem": eachValue(realMemPersona.lessons),
}

// OpenLearn reads the first limit lessons (0: all) of files in a format. [memory.Invalid] for
// another format, or where there is no gold.
func OpenLearn(format string, limit int, files ...string) ([]Lesson, error) {
	return open(lessonReaders, format, limit, files, func(l Lesson) bool { return len(l.Gold) > 0 })
}

// own is a lesson of one's own, where it is whole.
func (l Lesson) own(string) ([]Lesson, error) {
	if len(l.Turns) == 0 {
		return nil, errors.New("turns: is empty")
	}
	for i := range l.Turns {
		l.Turns[i] = l.Turns[i].own()
	}
	for i, g := range l.Gold {
		if g.Text == "" || g.Replaces != nil && (*g.Replaces < 0 || *g.Replaces >= i) {
			return nil, fmt.Errorf("gold %d: %q is empty, or replaces none that is earlier", i, g.Text)
		}
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
					l.Gold = append(l.Gold, GoldFact{Text: words})
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
				l.Gold = append(l.Gold, GoldFact{Text: words})
			} else {
				l.Extra = append(l.Extra, words)
			}
		}
	}
	return []Lesson{l}, nil
}
