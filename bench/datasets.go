package bench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// readFile returns a file's bytes, unpacked if its name ends in .gz.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var r io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", path, err)
		}
	}
	return io.ReadAll(r)
}

// BEAM reads chats of the BEAM benchmark (JSON lines). Gold is messages; a
// group of messages about one thing is a session.
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
	for _, kind := range keys(b.Probing) {
		for _, p := range b.Probing[kind] {
			if gold := numbersIn(p.Source); len(gold) > 0 {
				c.Questions = append(c.Questions, Question{Text: p.Question, Category: kind, Gold: gold})
			}
		}
	}
	return c
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
// is asked when the sessions before its own are known.
func RealMem(path string) (Conversation, error) {
	data, err := readFile(path)
	if err != nil {
		return Conversation{}, fmt.Errorf("read realmem: %w", err)
	}
	c, err := parseRealMem(data)
	if err != nil {
		return Conversation{}, fmt.Errorf("read %s: %w", path, err)
	}
	c.Name = path
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
			if asked != "" && role == memory.RoleAssistant && len(t.Gold) > 0 && before > 0 {
				c.Questions = append(c.Questions, Question{Text: asked, Category: "query", Gold: t.Gold, Before: before})
			}
			asked = ""
			if t.Query {
				asked = t.Content
			}
			c.Turns = append(c.Turns, Turn{
				Ref: fmt.Sprint(len(c.Turns)), Session: d.Session, Role: role, Content: t.Content, At: at,
			})
		}
	}
	return c, nil
}
