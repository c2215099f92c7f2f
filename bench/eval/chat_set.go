package eval

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ChatPerson is one trial set of `locibench chat`: what somebody said, and messages that need some of
// it or none. bench/eval/testdata/chat-recall/README.md describes the format.
type ChatPerson struct {
	ID    string `json:"id"`
	Chats []struct {
		At        time.Time      `json:"at"`
		Exchanges []ChatExchange `json:"exchanges"`
	} `json:"chats"`
	Facts []struct {
		ID   string   `json:"id"`
		From []string `json:"from"`
		Text string   `json:"text"`
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
	Message string   `json:"message"`
	Answers []string `json:"answers"` // one of them must be in the block
	Gold    []string `json:"gold"`    // facts and exchanges that hold it
}

// Surrounding is text before or after a message that is not about what the message asks.
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

// name is what the table calls it: people have pasted either code or a log.
func (s Surrounding) name(place string) string {
	if s.Kind == "code" || s.Kind == "log" {
		return "code or log " + place
	}
	return s.Name + " " + place
}

// The files of a folder of trial sets, beside the sets.
const (
	heldBackFile = "held-back.tar.gz"
	readmeFile   = "README.md"
)

// OpenChat reads the trial sets of a folder in order of id: the development half, or the one held
// back, whose hashes must be those that the folder's README.md notes.
func OpenChat(dir string, heldBack bool) (out []ChatPerson, err error) {
	read := developmentSets
	if heldBack {
		read = heldBackSets
	}
	sets, err := read(dir)
	if err != nil {
		return nil, fmt.Errorf("read trial sets: %w", err)
	}
	for name, data := range sets {
		var p ChatPerson
		if err := json.Unmarshal(data, &p); err != nil || len(p.Needed)+len(p.Unrelated) == 0 {
			return nil, memory.Errorf(memory.Invalid, "%s is not a trial set: %v", name, err)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, memory.Errorf(memory.Invalid, "no trial set (*.json) in %s", dir)
	}
	slices.SortFunc(out, func(a, b ChatPerson) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// developmentSets returns the sets of the development half by their names.
func developmentSets(dir string) (map[string][]byte, error) {
	sets := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range names {
		if sets[name], err = os.ReadFile(name); err != nil {
			break
		}
	}
	return sets, err
}

// heldBackSets returns those of the other half.
func heldBackSets(dir string) (map[string][]byte, error) {
	sets := map[string][]byte{}
	noted, err := os.ReadFile(filepath.Join(dir, readmeFile))
	if err != nil {
		return nil, err
	}
	packed, err := os.ReadFile(filepath.Join(dir, heldBackFile))
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return sets, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); !strings.Contains(string(noted), sum) {
			return nil, memory.Errorf(memory.Invalid, "the hash of %s is not in %s: it was changed", h.Name, readmeFile)
		}
		sets[h.Name] = data
	}
}

// holds reports whether a text has one of the answers, whatever their case.
func holds(text string, answers []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(answers, func(a string) bool { return strings.Contains(text, strings.ToLower(a)) })
}
