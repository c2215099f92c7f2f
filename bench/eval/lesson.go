package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Lesson has turns of one user and the facts to learn from them. The help of locibench learn describes its JSON.
type Lesson struct {
	Name  string     `json:"id"`
	Turns []Turn     `json:"turns"`
	Gold  []GoldFact `json:"gold"`
	// Wrong are statements that must not be learned. A fact that is more similar to one of them than to gold and
	// extra is junk and wrong. Only facts about the user match a statement that begins with "User".
	Wrong []string `json:"wrong"`
	// Extra are statements that may be learned. They count neither as found nor as junk.
	Extra []string `json:"junk_ok"`
}

// GoldFact is a statement to learn.
type GoldFact struct {
	Text     string   `json:"text"`
	Or       []string `json:"or"`       // other wordings
	Subject  string   `json:"subject"`  // a word of its subject, "user" for the user; "": any subject
	Replaces *int     `json:"replaces"` // index in Gold of the fact that it replaces
}

// lessonReaders are the formats of [OpenLearn].
var lessonReaders = map[string]reader[Lesson]{
	"jsonl":   eachValue(Lesson.own),
	"locomo":  eachValue(locomoSample.lessons),
	"realmem": eachValue(realMemPersona.lessons),
}

// OpenLearn reads the first limit lessons (0: all) of files in a format. An unknown format, or files without gold, are
// [memory.Invalid].
func OpenLearn(format string, limit int, files ...string) ([]Lesson, error) {
	return open(lessonReaders, format, limit, files, func(l Lesson) bool { return len(l.Gold) > 0 })
}

// own validates a lesson of the user's own data.
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

// lessons returns two lessons of a conversation, one per speaker. That speaker is the user, the other the assistant,
// and the gold is the observations about the speaker, with "User" instead of the name.
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
				if len(o) > 1 && json.Unmarshal(o[0], &words) == nil { // other formats are skipped
					words = strings.ReplaceAll(words, speaker, "User")
					l.Gold = append(l.Gold, GoldFact{Text: words})
				}
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// lessons returns the lesson of a persona. Gold is the memories extracted from the user's turns; those from the
// assistant's turns are extra.
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
