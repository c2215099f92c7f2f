package eval

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// maxChatSet bounds one trial set.
const maxChatSet = 16 << 20

// OpenChat reads the trial sets of a folder in order of name: the development half, or the one held
// back, whose hashes must be those that the folder's README.md notes.
func OpenChat(dir string, heldBack bool) (out []ChatPerson, err error) {
	add := func(name string, data []byte) error {
		var p ChatPerson
		if err := json.Unmarshal(data, &p); err != nil || len(p.Needed)+len(p.Unrelated) == 0 {
			return memory.Errorf(memory.Invalid, "%s is not a trial set: %v", name, err)
		}
		out = append(out, p)
		return nil
	}
	if heldBack {
		err = heldBackFiles(dir, add)
	} else {
		err = jsonFiles(dir, add)
	}
	if err == nil && len(out) == 0 {
		err = memory.Errorf(memory.Invalid, "no trial set (*.json) in %s", dir)
	}
	slices.SortFunc(out, func(a, b ChatPerson) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

func jsonFiles(dir string, add func(name string, data []byte) error) error {
	names, err := fs.Glob(os.DirFS(dir), "*.json")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("read trial sets: %w", err)
		}
		if err := add(name, data); err != nil {
			return err
		}
	}
	return nil
}

func heldBackFiles(dir string, add func(name string, data []byte) error) (err error) {
	noted, err := os.ReadFile(filepath.Join(dir, readmeFile))
	if err != nil {
		return fmt.Errorf("read the hashes: %w", err)
	}
	f, err := os.Open(filepath.Join(dir, heldBackFile))
	if err != nil {
		return fmt.Errorf("open the half held back: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("read the half held back: %w", err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(r, maxChatSet))
		}
		if err != nil {
			return fmt.Errorf("read the half held back: %w", err)
		}
		sum := sha256.Sum256(data)
		if !strings.Contains(string(noted), hex.EncodeToString(sum[:])) {
			return memory.Errorf(memory.Invalid, "%s: its hash is not in %s: the half held back was changed", h.Name, readmeFile)
		}
		if err := add(h.Name, data); err != nil {
			return err
		}
	}
}

// holds reports whether a text has one of the answers, whatever their case.
func holds(text string, answers []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(answers, func(a string) bool { return strings.Contains(text, strings.ToLower(a)) })
}
