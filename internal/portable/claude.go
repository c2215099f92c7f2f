package portable

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// claudeMessage is one of chat_messages. What is attached to it is not read: it was
// written by others.
type claudeMessage struct {
	ID      string      `json:"uuid"`
	Parent  string      `json:"parent_message_uuid"` // "": the one before it in the list
	Sender  string      `json:"sender"`
	Text    string      `json:"text"`
	Content claudeParts `json:"content"`
	Created string      `json:"created_at"`
}

// claudeParts are what a message consists of: words, thoughts, tools and their results.
type claudeParts []struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// claude reads a conversation of conversations.json in the export of a Claude account:
// a list of messages, in newer ones a tree of them, of which the path to the current
// one is taken, and of that what the two sides said in words.
func (r Reader) claude(n int, item []byte) error {
	var c struct {
		ID       string          `json:"uuid"`
		Name     string          `json:"name"`
		Created  string          `json:"created_at"`
		Updated  string          `json:"updated_at"`
		Current  string          `json:"current_leaf_message_uuid"`
		Messages []claudeMessage `json:"chat_messages"`
	}
	if err := json.Unmarshal(item, &c); err != nil {
		return wrong{memory.Errorf(memory.Invalid, "is not a conversation: %s", amiss(err))}
	}
	if c.ID == "" || c.Messages == nil {
		return wrong{memory.Errorf(memory.Invalid, "is not a conversation: it has no uuid or no chat_messages")}
	}
	conversation := memory.Conversation{
		ID: r.ID("claude", c.ID), Owner: r.Owner, Project: r.Project, Title: c.Name,
		CreatedAt: someTime(c.Created), UpdatedAt: someTime(c.Updated),
	}
	var path []memory.Turn
	for _, at := range claudePath(c.Messages, c.Current) {
		m := c.Messages[at]
		t := memory.Turn{
			Owner: r.Owner, Conversation: conversation.ID, Project: r.Project,
			Content: m.words(), Ref: text.Clip(m.ID, 256), Status: memory.Active, CreatedAt: someTime(m.Created),
		}
		switch m.Sender {
		case "human":
			t.Role = memory.RoleUser
		case "assistant":
			t.Role = memory.RoleAssistant
		}
		if t.Role == "" || t.Content == "" {
			continue
		}
		if m.ID == "" {
			m.ID = fmt.Sprint(at)
		}
		t.ID = r.ID("claude", c.ID, m.ID)
		path = append(path, t)
	}
	return r.chat(n, conversation, path)
}

// claudePath returns the places of the messages that lead to the one called current, or
// to the last where none is called so, the first first.
func claudePath(messages []claudeMessage, current string) (path []int) {
	place := make(map[string]int, len(messages))
	for i, m := range messages {
		if _, met := place[m.ID]; !met && m.ID != "" {
			place[m.ID] = i
		}
	}
	at, found := place[current]
	if !found {
		at = len(messages) - 1
	}
	met := make([]bool, len(messages))
	for at >= 0 && !met[at] {
		met[at] = true
		path = append(path, at)
		before, found := place[messages[at].Parent]
		switch {
		case messages[at].Parent == "":
			at--
		case found:
			at = before
		default: // the root of all, which is not a message
			at = -1
		}
	}
	slices.Reverse(path)
	return path
}

// words returns what a message says. Where it has parts, its text also has marks in
// place of those that are not words; a person has none of those.
func (m claudeMessage) words() string {
	var texts []string
	for _, p := range m.Content {
		if p.Type == "text" && strings.TrimSpace(p.Text) != "" {
			texts = append(texts, p.Text)
		}
	}
	if len(texts) == 0 && (len(m.Content) == 0 || m.Sender == "human") && strings.TrimSpace(m.Text) != "" {
		return m.Text
	}
	return strings.Join(texts, "\n")
}
