// Package eval measures how well Loci finds messages ([Measured]), adds memory to chats ([Chat]), learns ([Learned])
// and supports a model's answers ([Retrieve], [Reader.Ask]). It reads public data sets, which are not part of Loci,
// and the user's own JSON lines.
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
	Ref     string      `json:"id"`      // id in the data set, unique within an owner
	Session string      `json:"session"` // becomes the conversation
	Role    memory.Role `json:"role"`
	Name    string      `json:"name"` // of the speaker, "" for user and assistant
	Content string      `json:"content"`
	At      time.Time   `json:"at"`
}

// own fills in the session and role of a turn of the user's own data.
func (t Turn) own() Turn {
	t.Session, t.Role = cmp.Or(t.Session, "1"), cmp.Or(t.Role, memory.RoleUser)
	return t
}

// Question is a question about one owner's turns.
type Question struct {
	ID           string // unique within its data set
	Text         string
	Category     string
	Answer       string   // the right answer, "" if the data set has none
	Gold         []string // refs of the turns or sessions with the answer
	Before       int      // number of turns before the question; 0: all
	Unanswerable bool     // about the same people and things, but without an answer in the turns
}

// Conversation has the turns of one owner and the questions about them.
type Conversation struct {
	Name      string
	Turns     []Turn
	Questions []Question
	Sessions  bool // gold is sessions, ranked by the best turn of each
}

// Dataset is a named list of conversations.
type Dataset struct {
	Name          string
	Conversations []Conversation
}

// reader parses a file in some format.
type reader[R any] func(in io.Reader, name string) ([]R, error)

// readers are the formats of [Open].
var readers = map[string]reader[Conversation]{
	"locomo":  eachValue(locomoSample.conversations),
	"beam":    eachValue(beamChat.conversations),
	"realmem": eachValue(realMemPersona.conversations),
	"jsonl":   eachValue(ownTalk.conversations),
}

// Open reads the first limit conversations (0: all) of files in a format. An unknown format, or files without gold, are
// [memory.Invalid].
func Open(format string, limit int, files ...string) (Dataset, error) {
	all, err := open(readers, format, limit, files, func(c Conversation) bool { return len(c.answerable()) > 0 })
	return Dataset{Name: format, Conversations: all}, err
}

// open reads the first limit entries (0: all) of files, and requires that one has gold.
func open[R any](
	readers map[string]reader[R], format string, limit int, files []string, hasGold func(R) bool,
) (all []R, err error) {
	read := readers[format]
	if read == nil {
		valid := strings.Join(sortedKeys(readers), ", ")
		return nil, memory.Errorf(memory.Invalid, "%q is not a data set format; valid: %s", format, valid)
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

// readFile reads a file, which may be compressed if its name ends in .gz.
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

// eachValue returns a reader of a JSON list or a sequence of JSON values, which converts each. Errors have the number
// of the value, from 1.
func eachValue[T, R any](of func(value T, name string) ([]R, error)) reader[R] {
	return func(in io.Reader, name string) (out []R, err error) {
		buffered := bufio.NewReader(in)
		dec := json.NewDecoder(buffered)
		if start, _ := buffered.Peek(1); string(start) == "[" {
			_, _ = dec.Token() // it is there
		}
		for n := 1; dec.More(); n++ {
			var value T
			var some []R
			if err = dec.Decode(&value); err == nil {
				some, err = of(value, name)
			}
			if err != nil {
				return nil, memory.Errorf(memory.Invalid, "value %d: %v", n, err)
			}
			out = append(out, some...)
		}
		return out, nil
	}
}

// first returns the first limit elements, or all if limit is 0.
func first[T any](limit int, list []T) []T {
	return list[:min(cmp.Or(limit, len(list)), len(list))]
}

// ask adds a question with the gold that exists. A question without any is omitted.
func (c *Conversation) ask(q Question, exists func(string) bool) {
	q.Gold = slices.DeleteFunc(distinct(q.Gold), func(gold string) bool { return !exists(gold) })
	if len(q.Gold) > 0 || q.Unanswerable {
		c.Questions = append(c.Questions, q)
	}
}

// has reports whether gold is a turn or a session.
func (c *Conversation) has(gold string) bool {
	return slices.ContainsFunc(c.Turns, func(t Turn) bool { return t.Ref == gold || t.Session == gold })
}

// answerable returns the questions with an answer.
func (c Conversation) answerable() []Question {
	return slices.DeleteFunc(slices.Clone(c.Questions), func(q Question) bool { return q.Unanswerable })
}

// turnsBefore returns the number of turns before a question.
func (c Conversation) turnsBefore(q Question) int {
	if q.Before <= 0 || q.Before > len(c.Turns) {
		return len(c.Turns)
	}
	return q.Before
}

// speakers returns the names of the speakers, in order.
func (c Conversation) speakers() []string {
	var names []string
	for _, t := range c.Turns {
		if t.Name != "" {
			names = append(names, t.Name)
		}
	}
	return distinct(names)
}

// distinct returns a list without duplicates.
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

// ownTalk is a conversation of the user's own data; see the help of locibench retrieval.
type ownTalk struct {
	ID        string `json:"id"`
	Turns     []Turn `json:"turns"`
	Questions []struct {
		ID           string   `json:"id"`
		Question     string   `json:"question"`
		Category     string   `json:"category"`
		Answer       string   `json:"answer"`
		Gold         []string `json:"gold"`
		Before       string   `json:"before"`
		Unanswerable bool     `json:"unanswerable"`
	} `json:"questions"`
}

func (o ownTalk) conversations(string) ([]Conversation, error) {
	c := Conversation{Name: o.ID}
	for _, t := range o.Turns {
		if t.Ref == "" || t.Content == "" || c.has(t.Ref) {
			return nil, fmt.Errorf("a turn needs content and a unique id, not %q", t.Ref)
		}
		c.Turns = append(c.Turns, t.own())
	}
	for i, q := range o.Questions {
		asked := Question{
			ID: cmp.Or(q.ID, fmt.Sprint(c.Name, ":", i+1)), Text: q.Question, Category: q.Category, Answer: q.Answer,
			Gold: q.Gold, Unanswerable: q.Unanswerable,
		}
		if q.Before != "" {
			asked.Before = slices.IndexFunc(c.Turns, func(t Turn) bool { return t.Ref == q.Before })
		}
		if q.Question == "" || asked.Before < 0 || q.Before != "" && asked.Before == 0 {
			return nil, fmt.Errorf("question %q needs text, and at least one turn before %q", asked.ID, q.Before)
		}
		c.ask(asked, c.has)
	}
	return []Conversation{c}, nil
}
