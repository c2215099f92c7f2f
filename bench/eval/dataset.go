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
	Answer       string    // the right one, "" where the data set has none
	At           time.Time // when it is asked; zero: not known
	Gold         []string  // refs of the turns, or their sessions, that answer
	Sessions     []string  // that answer, where the data set names them apart from turns
	Before       int       // the first so many turns are known when it is asked; 0: all
	Unanswerable bool      // about the same people and things, but not answered by the turns
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

// readers are the formats that [Open] reads: the first limit conversations of a file, or all.
var readers = map[string]func(in io.Reader, name string, limit int) ([]Conversation, error){
	"locomo":      readConversations(locomoSample.conversation),
	"beam":        readConversations(beamChat.conversation),
	"realmem":     readConversations(realMemPersona.conversation),
	"longmemeval": readConversations(haystack.conversation),
	"jsonl":       readLines,
}

// Formats are the names of the formats that [Open] reads.
func Formats() []string { return sortedKeys(readers) }

// Open reads the first limit conversations (0: all) of files in a format. [memory.Invalid] for
// another format, or where there is no question.
func Open(format string, limit int, files ...string) (Dataset, error) {
	all := Dataset{Name: format}
	read := readers[format]
	if read == nil {
		return all, memory.Errorf(memory.Invalid, "%q is not a data set; valid: %s", format, strings.Join(Formats(), ", "))
	}
	for _, file := range files {
		some, err := readFile(file, limit, read)
		if err != nil {
			return all, err
		}
		all.Conversations = append(all.Conversations, some...)
	}
	all.Conversations = first(limit, all.Conversations)
	if !slices.ContainsFunc(all.Conversations, func(c Conversation) bool { return len(c.answerable()) > 0 }) {
		return all, memory.Errorf(memory.Invalid, "no question with gold in %s", strings.Join(files, ", "))
	}
	return all, nil
}

// readFile reads a file, unpacked if its name ends in .gz.
func readFile[R any](path string, limit int, read func(io.Reader, string, int) ([]R, error)) (out []R, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := io.Reader(f)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", path, err)
		}
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	if out, err = read(in, name, limit); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return out, nil
}

// readConversations is the reader of a format whose every JSON value is a conversation.
func readConversations[T any](of func(T, string) (Conversation, error)) func(io.Reader, string, int) ([]Conversation, error) {
	return func(in io.Reader, name string, limit int) (out []Conversation, err error) {
		err = decode(in, limit, false, func(value T) error {
			c, err := of(value, name)
			out = append(out, c)
			return err
		})
		return out, err
	}
}

// decode hands on the first limit values (0: all) of a JSON list, or of JSON values one after the
// other. A strict one refuses fields that it does not know. Errors name the value, from 1 on.
func decode[T any](in io.Reader, limit int, strict bool, do func(T) error) error {
	buffered := bufio.NewReader(in)
	dec := json.NewDecoder(buffered)
	if strict {
		dec.DisallowUnknownFields()
	}
	if start, _ := buffered.Peek(1); string(start) == "[" {
		_, _ = dec.Token() // it is there
	}
	for n := 1; dec.More() && (limit == 0 || n <= limit); n++ {
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
	only := func(gold []string) (out []string) {
		for _, g := range distinct(gold) {
			if known(g) {
				out = append(out, g)
			} else {
				c.Excluded++
			}
		}
		return out
	}
	q.Gold, q.Sessions = only(q.Gold), only(q.Sessions)
	if len(q.Gold)+len(q.Sessions) == 0 && !q.Unanswerable {
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

// plain returns an answer as text: what a string says, or another value as it is written.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil { // null is none
		return s
	}
	return string(raw)
}

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
	GoldSessions []string `json:"gold_sessions"`
	Before       string   `json:"before"`
	Unanswerable bool     `json:"unanswerable"`
}

// readLines reads a data set of one's own, a JSON object a line. Conversations come in the order in
// which they are first named, and are asked when all their turns are there.
func readLines(in io.Reader, _ string, limit int) (out []Conversation, err error) {
	var asked []ownLine
	at := map[string]int{}
	err = decode(in, 0, true, func(l ownLine) error {
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
		return fmt.Errorf(`give "type":"turn" with content and an id that no other has, not %q, or "type":"question" with question`, l.ID)
	})
	for i, l := range asked {
		c := &out[at[l.Conversation]]
		q := Question{
			ID: cmp.Or(l.ID, fmt.Sprint(c.Name, ":", i+1)), Text: l.Question, Category: l.Category, Answer: l.Answer, At: l.At,
			Gold: l.Gold, Sessions: l.GoldSessions, Unanswerable: l.Unanswerable,
		}
		if l.Before != "" {
			q.Before = slices.IndexFunc(c.Turns, func(t Turn) bool { return t.Ref == l.Before })
			if q.Before < 1 {
				return nil, memory.Errorf(memory.Invalid, "question %q: nothing is known before %q", q.ID, l.Before)
			}
		}
		c.ask(q, c.has)
	}
	return first(limit, out), err
}
