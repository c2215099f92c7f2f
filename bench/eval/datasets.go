package eval

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// openFile opens a file, unpacked if its name ends in .gz.
func openFile(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return f, err
	}
	r, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpack %s: %w", path, err), f.Close())
	}
	return unpacked{r, f}, nil
}

// unpacked reads what was packed; closing it closes the file.
type unpacked struct {
	io.Reader
	io.Closer
}

// readFile returns a file's bytes, unpacked.
func readFile(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(f)
}

// BEAM reads chats of the BEAM benchmark (JSON lines). Gold is messages; a
// group of messages about one thing is a session. Questions of the kind abstention
// cannot be answered.
func BEAM(path string) (Dataset, error) {
	data, err := readFile(path)
	if err != nil {
		return Dataset{}, fmt.Errorf("read beam: %w", err)
	}
	set, err := parseBEAM(data)
	if err != nil {
		return Dataset{}, fmt.Errorf("read %s: %w", path, err)
	}
	return set, nil
}

func parseBEAM(data []byte) (Dataset, error) {
	set := Dataset{Name: "BEAM"}
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var chat beamChat
		if err := json.Unmarshal(line, &chat); err != nil {
			return Dataset{}, fmt.Errorf("beam: line %d: %w", len(set.Conversations)+1, err)
		}
		set.Conversations = append(set.Conversations, chat.conversation())
	}
	return set, nil
}

type beamChat struct {
	ChatID any `json:"chat_id"`
	Chat   []struct {
		Batch  int    `json:"batch_number"`
		Anchor string `json:"time_anchor"`
		Turns  [][]struct {
			Role    memory.Role `json:"role"`
			ID      int         `json:"id"`
			Anchor  string      `json:"time_anchor"`
			Content string      `json:"content"`
		} `json:"turns"`
	} `json:"chat"`
	Probing map[string][]struct {
		Question string          `json:"question"`
		Source   json.RawMessage `json:"source_chat_ids"`
	} `json:"probing_questions"`
}

func (b beamChat) conversation() Conversation {
	c := Conversation{Name: fmt.Sprint(b.ChatID)}
	var at time.Time
	for _, batch := range b.Chat {
		for i, group := range batch.Turns {
			for _, m := range group {
				for _, anchor := range []string{batch.Anchor, m.Anchor} {
					if t, err := time.Parse("January-02-2006", anchor); err == nil && t.After(at) {
						at = t
					}
				}
				content, _, _ := strings.Cut(m.Content, " ->-> ") // the generator's tag
				c.Turns = append(c.Turns, Turn{
					Ref: fmt.Sprint(m.ID), Session: fmt.Sprint(batch.Batch, ".", i), Role: m.Role, Content: content, At: at,
				})
			}
		}
	}
	known := map[string]bool{}
	for _, t := range c.Turns {
		known[t.Ref] = true
	}
	for _, kind := range keys(b.Probing) {
		for i, p := range b.Probing[kind] {
			q := Question{ID: fmt.Sprint(c.Name, ":", kind, ":", i), Text: p.Question, Category: kind}
			if kind == "abstention" {
				c.Unanswerable = append(c.Unanswerable, q)
				continue
			}
			q.Gold = c.only(numbersIn(p.Source), known)
			c.ask(q)
		}
	}
	return c
}

// only returns the gold that is known, and counts what is not.
func (c *Conversation) only(gold []string, known map[string]bool) []string {
	var out []string
	for _, g := range distinct(gold) {
		if known[g] {
			out = append(out, g)
		} else {
			c.Excluded++
		}
	}
	return out
}

// ask adds a question, or counts it if no gold is left.
func (c *Conversation) ask(q Question) {
	if len(q.Gold)+len(q.Sessions) == 0 {
		c.WithoutGold++
		return
	}
	c.Questions = append(c.Questions, q)
}

// plain returns an answer as text: what a string says, or another value as it is written.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil { // null is none
		return s
	}
	return string(raw)
}

// numbersIn returns all numbers in a JSON value, each once: a list of ids, or an
// object of such lists.
func numbersIn(raw json.RawMessage) []string {
	var out []string
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err != nil {
			return out
		}
		if n, ok := tok.(json.Number); ok && !seen[n.String()] {
			seen[n.String()] = true
			out = append(out, n.String())
		}
	}
}

// RealMem reads one persona's dialogues of RealMem. Gold is sessions; a question
// is asked when the sessions before its own are known, and only those count as
// gold.
func RealMem(path string) (Conversation, error) {
	data, err := readFile(path)
	if err != nil {
		return Conversation{}, fmt.Errorf("read realmem: %w", err)
	}
	c, err := parseRealMem(data)
	if err != nil {
		return Conversation{}, fmt.Errorf("read %s: %w", path, err)
	}
	c.Name, _, _ = strings.Cut(filepath.Base(path), ".")
	for i := range c.Questions {
		c.Questions[i].ID = c.Name + ":" + c.Questions[i].ID
	}
	return c, nil
}

func parseRealMem(data []byte) (Conversation, error) {
	var file struct {
		Dialogues []struct {
			Session string `json:"session_uuid"`
			Time    string `json:"current_time"`
			Turns   []struct {
				Speaker string   `json:"speaker"`
				Content string   `json:"content"`
				Query   bool     `json:"is_query"`
				Gold    []string `json:"memory_session_uuids"`
			} `json:"dialogue_turns"`
		} `json:"dialogues"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Conversation{}, fmt.Errorf("realmem: %w", err)
	}
	c := Conversation{Sessions: true}
	known := map[string]bool{}
	for _, d := range file.Dialogues {
		before := len(c.Turns)
		day, _, _ := strings.Cut(d.Time, " ")
		at, _ := time.Parse(time.DateOnly, day)
		asked := ""
		for _, t := range d.Turns {
			role := memory.RoleUser
			if t.Speaker == "Assistant" {
				role = memory.RoleAssistant
			}
			if asked != "" && role == memory.RoleAssistant {
				c.ask(Question{ID: fmt.Sprint(len(c.Turns)), Text: asked, Category: "query", Gold: c.only(t.Gold, known), Before: before})
			}
			asked = ""
			if t.Query {
				asked = t.Content
			}
			c.Turns = append(c.Turns, Turn{
				Ref: fmt.Sprint(len(c.Turns)), Session: d.Session, Role: role, Content: t.Content, At: at,
			})
		}
		known[d.Session] = true
	}
	return c, nil
}
