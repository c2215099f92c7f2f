package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// LearnFormats are the names of the formats that [OpenLearn] reads.
var LearnFormats = []string{"jsonl", "locomo", "realmem", "beam"}

// Lesson is talk of one user and what should be known after it.
type Lesson struct {
	Name     string
	Category string // what it is about, "" for nothing; junk is counted by it
	Turns    []Turn
	Gold     []GoldFact
	// Wrong are statements that must not be remembered: a fact that says one of them
	// more than what is gold or extra is junk, and counted as wrong besides. One
	// that begins "User" is only said by facts about the user.
	Wrong []string
	// Extra are statements that may be remembered: they count neither as found nor
	// as junk.
	Extra []string
	// Partial says that gold is not all that is worth knowing, so that what matches
	// none of it says nothing about precision.
	Partial bool
}

// GoldFact is a statement worth remembering.
type GoldFact struct {
	Text     string
	Or       []string // the same in other words
	Subject  string   // a word of whom it is about, "user" for the user; "": any will do
	Turn     int      // place of the turn that says it, -1 if that is not known
	Replaces int      // place in Gold of what it takes the place of, -1 for nothing
	Category string
	Question string // what one would ask to be told it; "" for nothing
}

// OpenLearn reads the first limit lessons (0: all) in one of [LearnFormats].
// [memory.Invalid] for another format, or where there is no gold.
func OpenLearn(format string, limit int, files ...string) ([]Lesson, error) {
	read := map[string]func([]byte, string) ([]Lesson, error){
		"jsonl": learnJSONL, "locomo": learnLoCoMo, "realmem": learnRealMem, "beam": learnBEAM,
	}[format]
	if read == nil {
		return nil, memory.Errorf(memory.Invalid, "%q is not a data set; valid: %s", format, strings.Join(LearnFormats, ", "))
	}
	var all []Lesson
	gold := 0
	for _, f := range files {
		data, err := readFile(f)
		if err != nil {
			return nil, fmt.Errorf("read lessons: %w", err)
		}
		some, err := read(data, f)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f, err)
		}
		all = append(all, some...)
	}
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	for _, l := range all {
		gold += len(l.Gold)
	}
	if gold == 0 {
		return nil, memory.Errorf(memory.Invalid, "no gold in %s", strings.Join(files, ", "))
	}
	return all, nil
}

// lessonLine is a lesson of one's own.
type lessonLine struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Turns    []struct {
		Role    memory.Role `json:"role"`
		Content string      `json:"content"`
		At      time.Time   `json:"at"`
		Session string      `json:"session"`
	} `json:"turns"`
	Gold []struct {
		Text     string          `json:"text"`
		Or       []string        `json:"or"`
		Subject  string          `json:"subject"`
		Turn     *int            `json:"turn"`
		Replaces json.RawMessage `json:"replaces"`
		Category string          `json:"category"`
		Question string          `json:"question"`
	} `json:"gold"`
	JunkOK []string `json:"junk_ok"`
	Wrong  []string `json:"wrong"`
}

// learnJSONL reads lessons of one's own, a JSON object a line, blank lines aside.
func learnJSONL(data []byte, _ string) ([]Lesson, error) {
	var out []Lesson
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		l, err := readLesson(lines.Bytes())
		if err != nil {
			return nil, memory.Errorf(memory.Invalid, "line %d: %v", n, err)
		}
		if l.Name == "" {
			l.Name = fmt.Sprint(n)
		}
		out = append(out, l)
	}
	return out, lines.Err()
}

func readLesson(line []byte) (Lesson, error) {
	var in lessonLine
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return Lesson{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return Lesson{}, memory.Errorf(memory.Invalid, "something follows the object")
	}
	l := Lesson{Name: in.ID, Category: in.Category, Extra: in.JunkOK, Wrong: in.Wrong}
	for i, t := range in.Turns {
		if t.Role == "" {
			t.Role = memory.RoleUser
		}
		if t.Role != memory.RoleUser && t.Role != memory.RoleAssistant {
			return l, memory.Errorf(memory.Invalid, "turn %d: role %q: valid are user and assistant", i, t.Role)
		}
		l.Turns = append(l.Turns, Turn{Ref: fmt.Sprint(i), Session: t.Session, Role: t.Role, Content: t.Content, At: t.At})
	}
	if len(l.Turns) == 0 {
		return l, memory.Errorf(memory.Invalid, "turns: is empty")
	}
	for i, g := range in.Gold {
		fact := GoldFact{Text: g.Text, Or: g.Or, Subject: g.Subject, Turn: -1, Replaces: -1, Category: g.Category, Question: g.Question}
		if strings.TrimSpace(g.Text) == "" {
			return l, memory.Errorf(memory.Invalid, "gold %d: text: is empty", i)
		}
		if g.Turn != nil {
			if fact.Turn = *g.Turn; fact.Turn < 0 || fact.Turn >= len(l.Turns) {
				return l, memory.Errorf(memory.Invalid, "gold %d: turn: there is no turn %d; the first is 0", i, fact.Turn)
			}
		}
		var err error
		if fact.Replaces, err = replaced(g.Replaces, l.Gold); err != nil {
			return l, memory.Errorf(memory.Invalid, "gold %d: replaces: %v", i, err)
		}
		l.Gold = append(l.Gold, fact)
	}
	return l, nil
}

// replaced returns the place of the earlier gold that raw names by place or words,
// -1 if it names none.
func replaced(raw json.RawMessage, earlier []GoldFact) (int, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return -1, nil
	}
	var words string
	i := -1
	if json.Unmarshal(raw, &words) == nil {
		i = slices.IndexFunc(earlier, func(g GoldFact) bool { return g.Text == words })
	} else if err := json.Unmarshal(raw, &i); err != nil {
		return -1, memory.Errorf(memory.Invalid, "give the place or the words of an earlier one")
	}
	if i < 0 || i >= len(earlier) {
		return -1, memory.Errorf(memory.Invalid, "no earlier one is %s", raw)
	}
	return i, nil
}
