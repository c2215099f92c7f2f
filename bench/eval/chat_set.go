package eval

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ChatPerson is one trial set of `locibench chat`: a person's chats, and messages that need memories of them or none.
// bench/eval/testdata/chat-recall/README.md describes the format.
type ChatPerson struct {
	ID    string `json:"id"`
	Chats []struct {
		At        time.Time      `json:"at"`
		Exchanges []ChatExchange `json:"exchanges"`
	} `json:"chats"`
	Facts []struct {
		ID       string    `json:"id"`
		At       time.Time `json:"at"` // date; zero: after the chats
		From     []string  `json:"from"`
		Replaces string    `json:"replaces"` // the earlier fact that it corrects or, without text, ends
		Text     string    `json:"text"`
	} `json:"facts"`
	Needed       []ChatMessage `json:"needed"`
	Unrelated    []ChatMessage `json:"unrelated"`
	Surroundings []Surrounding `json:"surroundings"`
}

// ChatExchange is a message and its answer.
type ChatExchange struct {
	ID        string `json:"id"`
	User      string `json:"user"`
	Assistant string `json:"assistant"`
}

// ChatMessage is a message that needs memory, or none.
type ChatMessage struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"` // direct: a short question about one fact
	Message string   `json:"message"`
	Answers []string `json:"answers"` // one of them must be in the block
	Gold    []string `json:"gold"`    // facts and exchanges with the answer
}

// Surrounding is unrelated text before or after a message.
type Surrounding struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`   // talk joins a message with a space, others with an empty line
	Places []string `json:"places"` // before, after
	Text   string   `json:"text"`
}

// around returns a message with the text at a place.
func (s Surrounding) around(message, place string) string {
	between := "\n\n"
	if s.Kind == "talk" {
		between = " "
	}
	if place == "before" {
		return s.Text + between + message
	}
	return message + between + s.Text
}

// name returns the surrounding's name in the table. Code and logs have the same name.
func (s Surrounding) name(place string) string {
	if s.Kind == "code" || s.Kind == "log" {
		return "code or log " + place
	}
	return s.Name + " " + place
}

// Files of a folder of trial sets that are not sets.
const (
	heldBackFile = "held-back.zip"
	readmeFile   = "README.md"
)

// OpenChat reads the trial sets of a folder in order of id: the development half, or the held-back half, whose hash
// must be in the folder's README.md.
func OpenChat(dir string, heldBack bool) (out []ChatPerson, err error) {
	sets := os.DirFS(dir)
	if heldBack {
		if sets, err = heldBackSets(sets); err != nil {
			return nil, fmt.Errorf("open the half held back: %w", err)
		}
	}
	names, err := fs.Glob(sets, "*.json")
	if err == nil && len(names) == 0 {
		err = memory.Errorf(memory.Invalid, "no trial set (*.json) in %s", dir)
	}
	for _, name := range names {
		data, err := fs.ReadFile(sets, name)
		if err != nil {
			return nil, fmt.Errorf("read trial set: %w", err)
		}
		var p ChatPerson
		if err := json.Unmarshal(data, &p); err != nil || len(p.Needed)+len(p.Unrelated) == 0 {
			return nil, memory.Errorf(memory.Invalid, "%s is not a trial set: %v", name, err)
		}
		out = append(out, p)
	}
	return out, err
}

// Directly returns persons with only the short questions of the folder's direct.jsonl.
func Directly(dir string, persons []ChatPerson) ([]ChatPerson, error) {
	type question struct {
		Person string `json:"person"`
		ChatMessage
	}
	whole := func(q question, _ string) ([]question, error) { return []question{q}, nil }
	asked, err := readFile(filepath.Join(dir, "direct.jsonl"), eachValue(whole))
	for i := range persons {
		persons[i].Needed, persons[i].Unrelated = nil, nil
		for _, q := range asked {
			if q.Person == persons[i].ID {
				persons[i].Needed = append(persons[i].Needed, q.ChatMessage)
			}
		}
	}
	return persons, err
}

// heldBackSets opens the held-back half.
func heldBackSets(dir fs.FS) (fs.FS, error) {
	noted, err := fs.ReadFile(dir, readmeFile)
	packed, missing := fs.ReadFile(dir, heldBackFile)
	if err = errors.Join(err, missing); err != nil {
		return nil, err
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(packed)); !strings.Contains(string(noted), sum) {
		return nil, memory.Errorf(memory.Invalid, "the hash of %s is not in %s: it was changed", heldBackFile, readmeFile)
	}
	return zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
}

// holds reports whether a text contains one of the answers, ignoring case.
func holds(text string, answers []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(answers, func(a string) bool { return strings.Contains(text, strings.ToLower(a)) })
}
