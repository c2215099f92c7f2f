package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Lesson is talk of one user and what should be known after it.
type Lesson struct {
	Name     string
	Category string // what it is about, "" for nothing
	Turns    []Turn
	Gold     []GoldFact
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
	Turn     int      // place of the turn that says it, -1 if that is not known
	Replaces int      // place in Gold of what it takes the place of, -1 for nothing
	Category string
}

// lessonReaders are the formats that [OpenLearn] reads.
var lessonReaders = map[string]func(in io.Reader, name string, limit int) ([]Lesson, error){
	"jsonl":   readOwnLessons,
	"locomo":  readLessons(locomoSample.lessons),
	"realmem": readLessons(realMemPersona.lessons),
}

// LearnFormats are the names of the formats that [OpenLearn] reads.
func LearnFormats() []string { return sortedKeys(lessonReaders) }

// OpenLearn reads the first limit lessons (0: all) in a format. [memory.Invalid] for
// another format, or where there is no gold.
func OpenLearn(format string, limit int, files ...string) (all []Lesson, err error) {
	read := lessonReaders[format]
	if read == nil {
		return nil, memory.Errorf(memory.Invalid, "%q is not a data set; valid: %s", format, strings.Join(LearnFormats(), ", "))
	}
	for _, file := range files {
		some, err := readFile(file, limit, read)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	all = first(limit, all)
	if !slices.ContainsFunc(all, func(l Lesson) bool { return len(l.Gold) > 0 }) {
		return nil, memory.Errorf(memory.Invalid, "no gold in %s", strings.Join(files, ", "))
	}
	return all, nil
}

// readLessons is the reader of a format whose every JSON value makes lessons.
func readLessons[T any](of func(T, string) ([]Lesson, error)) func(io.Reader, string, int) ([]Lesson, error) {
	return func(in io.Reader, name string, limit int) (out []Lesson, err error) {
		err = decode(in, limit, false, func(value T) error {
			some, err := of(value, name)
			out = append(out, some...)
			return err
		})
		return out, err
	}
}

// ownLesson is a lesson of one's own: see the help of locibench learn.
type ownLesson struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Turns    []struct {
		Role    memory.Role `json:"role"`
		Content string      `json:"content"`
		At      time.Time   `json:"at"`
		Session string      `json:"session"`
	} `json:"turns"`
	Gold []struct {
		Text     string   `json:"text"`
		Or       []string `json:"or"`
		Subject  string   `json:"subject"`
		Turn     *int     `json:"turn"`
		Replaces any      `json:"replaces"`
		Category string   `json:"category"`
	} `json:"gold"`
	JunkOK []string `json:"junk_ok"`
	Wrong  []string `json:"wrong"`
}

func readOwnLessons(in io.Reader, _ string, limit int) (out []Lesson, err error) {
	err = decode(in, limit, true, func(o ownLesson) error {
		l, err := o.lesson()
		if l.Name == "" {
			l.Name = fmt.Sprint(len(out) + 1)
		}
		out = append(out, l)
		return err
	})
	return out, err
}

func (o ownLesson) lesson() (Lesson, error) {
	l := Lesson{Name: o.ID, Category: o.Category, Extra: o.JunkOK, Wrong: o.Wrong}
	for i, t := range o.Turns {
		if t.Role == "" {
			t.Role = memory.RoleUser
		}
		if t.Role != memory.RoleUser && t.Role != memory.RoleAssistant {
			return l, fmt.Errorf("turn %d: role %q: valid are user and assistant", i, t.Role)
		}
		l.Turns = append(l.Turns, Turn{Session: t.Session, Role: t.Role, Content: t.Content, At: t.At})
	}
	if len(l.Turns) == 0 {
		return l, errors.New("turns: is empty")
	}
	for i, g := range o.Gold {
		fact := GoldFact{Text: g.Text, Or: g.Or, Subject: g.Subject, Turn: -1, Replaces: -1, Category: g.Category}
		if strings.TrimSpace(g.Text) == "" {
			return l, fmt.Errorf("gold %d: text: is empty", i)
		}
		if g.Turn != nil {
			fact.Turn = *g.Turn
		}
		switch earlier := g.Replaces.(type) { // by its place or its words
		case float64:
			fact.Replaces = int(earlier)
		case string:
			fact.Replaces = slices.IndexFunc(l.Gold, func(g GoldFact) bool { return g.Text == earlier })
		}
		if g.Replaces != nil && (fact.Replaces < 0 || fact.Replaces >= i) || fact.Turn >= len(l.Turns) {
			return l, fmt.Errorf("gold %d: there is no turn %d, or no earlier one is %v", i, fact.Turn, g.Replaces)
		}
		l.Gold = append(l.Gold, fact)
	}
	return l, nil
}

// lessons makes two lessons of a conversation, one for each speaker: what that speaker says is the
// user's, what the other says the assistant's, and the gold is the observations about the user,
// whose name stands as "User" in them.
func (s locomoSample) lessons(string) (out []Lesson, err error) {
	c, err := s.conversation("")
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
				l.observe(o, speaker)
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// observe adds a statement and the turn, or the first of the turns, it is from. What is spelled
// otherwise is left out.
func (l *Lesson) observe(raw []json.RawMessage, speaker string) {
	var words, ref string
	var refs []string
	if len(raw) < 2 || json.Unmarshal(raw[0], &words) != nil {
		return
	}
	if json.Unmarshal(raw[1], &ref) != nil && json.Unmarshal(raw[1], &refs) == nil && len(refs) > 0 {
		ref = refs[0]
	}
	l.Gold = append(l.Gold, GoldFact{
		Text: strings.ReplaceAll(words, speaker, "User"), Turn: l.place(strings.TrimSpace(ref)), Replaces: -1, Category: "observation",
	})
}

// place returns the place of a turn by its ref, -1 if there is none.
func (l *Lesson) place(ref string) int {
	return slices.IndexFunc(l.Turns, func(t Turn) bool { return t.Ref == ref })
}

// lessons makes a lesson of a persona. Gold is the memories extracted from the user's turns; those
// extracted from the assistant's may be remembered.
func (p realMemPersona) lessons(name string) ([]Lesson, error) {
	c, err := p.conversation(name)
	if err != nil {
		return nil, err
	}
	l := Lesson{Name: name, Turns: c.Turns}
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
			if m.Role != "User" {
				l.Extra = append(l.Extra, words)
				continue
			}
			turn := slices.IndexFunc(l.Turns, func(t Turn) bool { return t.Session == d.Session && t.Content == m.Source })
			l.Gold = append(l.Gold, GoldFact{Text: words, Turn: turn, Replaces: -1, Category: m.Type})
		}
	}
	return []Lesson{l}, nil
}
