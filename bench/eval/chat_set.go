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

// ChatPerson is one trial set of `locibench chat`: what somebody said, and messages that need
// some of it or none. bench/eval/testdata/chat-recall/README.md describes the format.
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
	Needed []struct {
		ID      string   `json:"id"`
		Message string   `json:"message"`
		Answers []string `json:"answers"` // one of them must be in the block
		Gold    []string `json:"gold"`    // facts and exchanges that hold it
	} `json:"needed"`
	Unrelated []struct {
		ID      string `json:"id"`
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"unrelated"`
	Surroundings []Surrounding `json:"surroundings"`
}

// ChatExchange is a message and its answer.
type ChatExchange struct {
	ID        string `json:"id"`
	User      string `json:"user"`
	Assistant string `json:"assistant"`
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

// kind is what the table calls it: people have pasted either code or a log.
func (s Surrounding) kind() string {
	if s.Kind == "code" || s.Kind == "log" {
		return "code or log"
	}
	return s.Name
}

// The files of a folder of trial sets.
const (
	heldBackFile = "held-back.tar.gz"
	readmeFile   = "README.md"
)

// maxChatSet bounds one trial set.
const maxChatSet = 16 << 20

// OpenChat reads the trial sets of a folder in order of name: the development half, or the one
// held back, whose hashes must be those that the folder's README.md notes.
func OpenChat(dir string, heldBack bool) ([]ChatPerson, error) {
	files, err := chatFiles(dir, heldBack)
	if err != nil {
		return nil, err
	}
	var out []ChatPerson
	for _, f := range files {
		var p ChatPerson
		if err := json.Unmarshal(f.data, &p); err != nil {
			return nil, memory.Errorf(memory.Invalid, "%s: %v", f.name, err)
		}
		if err := p.check(); err != nil {
			return nil, memory.Errorf(memory.Invalid, "%s: %v", f.name, err)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, memory.Errorf(memory.Invalid, "no trial set (*.json) in %s", dir)
	}
	return out, nil
}

type chatFile struct {
	name string
	data []byte
}

func chatFiles(dir string, heldBack bool) (out []chatFile, err error) {
	if heldBack {
		return heldBackFiles(dir)
	}
	names, err := fs.Glob(os.DirFS(dir), "*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("read trial sets: %w", err)
		}
		out = append(out, chatFile{name, data})
	}
	return out, nil
}

func heldBackFiles(dir string) (out []chatFile, err error) {
	noted, err := os.ReadFile(filepath.Join(dir, readmeFile))
	if err != nil {
		return nil, fmt.Errorf("read the hashes: %w", err)
	}
	f, err := os.Open(filepath.Join(dir, heldBackFile))
	if err != nil {
		return nil, fmt.Errorf("open the half held back: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read the half held back: %w", err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the half held back: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(r, maxChatSet))
		if err != nil {
			return nil, fmt.Errorf("read the half held back: %w", err)
		}
		sum := sha256.Sum256(data)
		if !strings.Contains(string(noted), hex.EncodeToString(sum[:])) {
			return nil, memory.Errorf(memory.Invalid, "%s: its hash is not in %s: the half held back was changed", h.Name, readmeFile)
		}
		out = append(out, chatFile{h.Name, data})
	}
	slices.SortFunc(out, func(a, b chatFile) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// check refuses a set whose parts do not fit together.
func (p ChatPerson) check() error {
	known := map[string]string{}
	for _, c := range p.Chats {
		for _, e := range c.Exchanges {
			known[e.ID] = e.User + "\n" + e.Assistant
		}
	}
	for _, f := range p.Facts {
		known[f.ID] = f.Text
		for _, from := range f.From {
			if known[from] == "" {
				return fmt.Errorf("fact %s is from %s, which is not an exchange", f.ID, from)
			}
		}
	}
	if len(p.Needed) == 0 || len(p.Unrelated) == 0 {
		return errors.New("needed or unrelated is empty")
	}
	for _, n := range p.Needed {
		if !slices.ContainsFunc(n.Gold, func(id string) bool { return holds(known[id], n.Answers) }) {
			return fmt.Errorf("message %s: no gold of it holds an answer", n.ID)
		}
		if holds(n.Message, n.Answers) {
			return fmt.Errorf("message %s holds its answer", n.ID)
		}
	}
	return nil
}

// holds reports whether a text has one of the answers, whatever their case.
func holds(text string, answers []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(answers, func(a string) bool { return strings.Contains(text, strings.ToLower(a)) })
}
