// Package eval measures how well Loci finds what was said ([Measured]), brings it into chats
// ([Chat]), learns from talk ([Learned]) and lets a model answer ([Retrieve], [Ask]). It reads
// public data sets in their own formats, which are not part of Loci, or one's own lines.
package eval

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Turn is one message of a data set.
type Turn struct {
	Ref     string // the data set's own id, unique within an owner
	Session string // becomes the conversation
	Role    memory.Role
	Name    string // of the speaker, "" for user and assistant
	Content string
	At      time.Time
}

// Question is asked of one owner's turns.
type Question struct {
	ID           string // unique within its data set
	Text         string
	Category     string
	Answer       string   // the right one, "" where the data set has none
	Gold         []string // refs of the turns, or their sessions, that answer
	Before       int      // the first so many turns are known when it is asked; 0: all
	Unanswerable bool     // about the same people and things, but not answered by the turns
}

// Conversation is what one owner said and is asked.
type Conversation struct {
	Name      string
	Turns     []Turn
	Questions []Question
	Sessions  bool // gold is sessions; the best turn of each stands for it

	Mended
}

// Mended is what was wrong with gold: ids that were repaired, ids that name nothing that was known when
// it was asked and were left out, and questions left out since no gold remains.
type Mended struct{ Repaired, Excluded, WithoutGold int }

// Dataset is a named list of conversations.
type Dataset struct {
	Name          string
	Conversations []Conversation
}

// reader reads what a file in some format has.
type reader[R any] func(in io.Reader, name string) ([]R, error)

// readers are the formats of [Open].
var readers = map[string]reader[Conversation]{
	"locomo":  eachValue(locomoSample.conversations),
	"beam":    eachValue(beamChat.conversations),
	"realmem": eachValue(realMemPersona.conversations),
	"jsonl":   readLines,
}

// Formats are the names of the formats of [Open].
func Formats() string { return strings.Join(sortedKeys(readers), ", ") }

// Open reads the first limit conversations (0: all) of files in a format. [memory.Invalid] for
// another format, or where there is no question with gold.
func Open(format string, limit int, files ...string) (Dataset, error) {
	all, err := open(readers, format, limit, files, func(c Conversation) bool { return len(c.answerable()) > 0 })
	return Dataset{Name: format, Conversations: all}, err
}

// open reads the first limit things (0: all) of files, of which one at least has gold.
func open[R any](
	readers map[string]reader[R], format string, limit int, files []string, hasGold func(R) bool,
) (all []R, err error) {
	read := readers[format]
	if read == nil {
		valid := strings.Join(sortedKeys(readers), ", ")
		return nil, memory.Errorf(memory.Invalid, "%q is not a data set; valid: %s", format, valid)
	}
	for _, file := range files {
		some, err := readFile(file, read)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, some...)
	}
	all = first(limit, all)
	if !slices.ContainsFunc(all, hasGold) {
		return nil, memory.Errorf(memory.Invalid, "no gold in %s", strings.Join(files, ", "))
	}
	return all, nil
}

// readFile reads a file, unpacked if its name ends in .gz.
func readFile[R any](path string, read reader[R]) (out []R, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := io.Reader(f)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return read(in, name)
}

// eachValue is the reader of a format whose every JSON value makes something of its own.
func eachValue[T, R any](of func(T, string) ([]R, error)) reader[R] {
	return func(in io.Reader, name string) (out []R, err error) {
		err = decode(in, false, func(value T) error {
			some, err := of(value, name)
			out = append(out, some...)
			return err
		})
		return out, err
	}
}

// decode hands on the values of a JSON list, or JSON values one after the other. A strict one refuses
// fields that it does not know. Errors name the value, from 1 on.
func decode[T any](in io.Reader, strict bool, do func(T) error) error {
	buffered := bufio.NewReader(in)
	dec := json.NewDecoder(buffered)
	if strict {
		dec.DisallowUnknownFields()
	}
	if start, _ := buffered.Peek(1); string(start) == "[" {
		_, _ = dec.Token() // it is there
	}
	for n := 1; dec.More(); n++ {
		var value T
		err := dec.Decode(&value)
		if err == nil {
			err = do(value)
		}
		if err != nil {
			return memory.Errorf(memory.Invalid, "value %d: %v", n, err)
		}
	}
	return nil
}

// first returns the first limit of a list, or all of it where limit is 0.
func first[T any](limit int, list []T) []T {
	return list[:min(cmp.Or(limit, len(list)), len(list))]
}

// ask adds a question, or counts it if no gold is left. Gold that is not known is counted.
func (c *Conversation) ask(q Question, known func(string) bool) {
	all := distinct(q.Gold)
	q.Gold = slices.DeleteFunc(slices.Clone(all), func(gold string) bool { return !known(gold) })
	c.Excluded += len(all) - len(q.Gold)
	if len(q.Gold) == 0 && !q.Unanswerable {
		c.WithoutGold++
		return
	}
	c.Questions = append(c.Questions, q)
}

// has reports whether something is a turn or a session.
func (c *Conversation) has(gold string) bool {
	return slices.ContainsFunc(c.Turns, func(t Turn) bool { return t.Ref == gold || t.Session == gold })
}

// answerable returns the questions that the turns answer.
func (c Conversation) answerable() []Question {
	return slices.DeleteFunc(slices.Clone(c.Questions), func(q Question) bool { return q.Unanswerable })
}

// known is how many turns are known when a question is asked.
func (c Conversation) known(q Question) int {
	if q.Before <= 0 || q.Before > len(c.Turns) {
		return len(c.Turns)
	}
	return q.Before
}

// speakers returns the names of who speaks, in order.
func (c Conversation) speakers() []string {
	var names []string
	for _, t := range c.Turns {
		if t.Name != "" {
			names = append(names, t.Name)
		}
	}
	return distinct(names)
}

// distinct returns a list with only the first of equals.
func distinct[T comparable](list []T) (out []T) {
	seen := map[T]bool{}
	for _, x := range list {
		if !seen[x] {
			out, seen[x] = append(out, x), true
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ownLine is a turn or a question of one's own data set: see the help of locibench retrieval.
type ownLine struct {
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
	Before       string   `json:"before"`
	Unanswerable bool     `json:"unanswerable"`
}

// readLines reads a data set of one's own, a JSON object a line. Conversations come in the order in
// which they are first named, and are asked when all their turns are there.
func readLines(in io.Reader, _ string) (out []Conversation, err error) {
	var asked []ownLine
	at := map[string]int{}
	err = decode(in, true, func(l ownLine) error {
		if _, ok := at[l.Conversation]; !ok {
			at[l.Conversation] = len(out)
			out = append(out, Conversation{Name: l.Conversation})
		}
		c := &out[at[l.Conversation]]
		l.Role, l.Session = cmp.Or(l.Role, memory.RoleUser), cmp.Or(l.Session, "1")
		switch {
		case l.Role != memory.RoleUser && l.Role != memory.RoleAssistant:
			return fmt.Errorf("role %q: valid are user and assistant", l.Role)
		case l.Type == "turn" && l.ID != "" && l.Content != "" && !c.has(l.ID):
			c.Turns = append(c.Turns, Turn{l.ID, l.Session, l.Role, l.Name, l.Content, l.At})
			return nil
		case l.Type == "question" && l.Question != "":
			asked = append(asked, l)
			return nil
		}
		return fmt.Errorf("a turn needs content and an id of its own, not %q, and a question its words", l.ID)
	})
	for i, l := range asked {
		c := &out[at[l.Conversation]]
		q := Question{
			ID: cmp.Or(l.ID, fmt.Sprint(c.Name, ":", i+1)), Text: l.Question, Category: l.Category, Answer: l.Answer,
			Gold: l.Gold, Unanswerable: l.Unanswerable,
		}
		if l.Before != "" {
			q.Before = slices.IndexFunc(c.Turns, func(t Turn) bool { return t.Ref == l.Before })
			if q.Before < 1 {
				return nil, memory.Errorf(memory.Invalid, "question %q: nothing is known before %q", q.ID, l.Before)
			}
		}
		c.ask(q, c.has)
	}
	return out, err
}
