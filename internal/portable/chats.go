package portable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// chat is a conversation in another program's export: a tree of messages with a current path.
type chat struct {
	program, id      string // the program's name, and the program's id of the chat
	title            string
	created, updated time.Time
	messagesByID     map[string]message
	currentID        string // id of the last message on the path
}

// message is a message of a chat, or an empty node of its tree.
type message struct {
	parentID  string // id of the previous message; "" for the first
	role      memory.Role
	text      string
	foreignID string // the program's id of the message
	created   time.Time
}

// path returns the ids of the messages on the path from the first to the current message.
func (c chat) path() (ids []string) {
	seen := map[string]bool{}
	for at := c.currentID; at != "" && !seen[at]; at = c.messagesByID[at].parentID {
		seen[at] = true
		ids = append(ids, at)
	}
	slices.Reverse(ids)
	return ids
}

// emitChat emits a chat, which is item n of the file, and the text messages on its path. A turn
// without a time gets the previous turn's time. A chat without text is skipped.
func (r Reader) emitChat(n int, c chat) error {
	conversation := memory.Conversation{ID: r.DeriveID(c.program, c.id), Owner: r.Owner, Project: r.Project, Title: c.title, CreatedAt: c.created, UpdatedAt: c.updated}
	last, emitted := c.created, false
	for _, id := range c.path() {
		m := c.messagesByID[id]
		if m.text == "" || m.role != memory.RoleUser && m.role != memory.RoleAssistant {
			continue
		}
		if m.created.IsZero() {
			m.created = last
		}
		last = m.created
		if !emitted {
			emitted = true
			if conversation.CreatedAt.IsZero() {
				conversation.CreatedAt = m.created
			}
			if err := r.emit(Record{Line: n, Size: 200, Foreign: true, Conversation: &conversation}); err != nil {
				return err
			}
		}
		t := memory.Turn{
			ID: r.DeriveID(c.program, c.id, id), Owner: r.Owner, Conversation: conversation.ID, Project: r.Project,
			Role: m.role, Content: m.text, Ref: text.Clip(m.foreignID, 256), Status: memory.Active, CreatedAt: m.created,
		}
		if err := r.emit(Record{Line: n, Size: len(m.text), Foreign: true, Turn: &t}); err != nil {
			return err
		}
	}
	return nil
}

// readConversation reads item n of a conversations.json, which ChatGPT or Claude exported.
func (r Reader) readConversation(n int, item []byte) error {
	var probe struct {
		Claude json.RawMessage `json:"chat_messages"`
	}
	err := json.Unmarshal(item, &probe)
	var c interface{ chat() chat } = &chatGPTConversation{}
	if probe.Claude != nil {
		c = &claudeConversation{}
	}
	if err == nil {
		err = json.Unmarshal(item, c)
	}
	if err != nil {
		return r.OnError(n, memory.Errorf(memory.Invalid, "is not a conversation: %s", explainJSON(err)))
	}
	parsed := c.chat()
	if parsed.id == "" || parsed.messagesByID == nil {
		return r.OnError(n, memory.Errorf(memory.Invalid, "is not a conversation: it has no id, uuid, mapping or chat_messages"))
	}
	return r.emitChat(n, parsed)
}

// chatGPTConversation is an item of ChatGPT's conversations.json.
type chatGPTConversation struct {
	ID             string  `json:"id"`
	ConversationID string  `json:"conversation_id"`
	Title          string  `json:"title"`
	Created        float64 `json:"create_time"`
	Updated        float64 `json:"update_time"`
	CurrentID      string  `json:"current_node"`
	Nodes          map[string]struct {
		Parent  string `json:"parent"`
		Message struct {
			ID      string  `json:"id"`
			Created float64 `json:"create_time"`
			Author  struct {
				Role memory.Role `json:"role"`
			} `json:"author"`
			Content struct {
				Parts []json.RawMessage `json:"parts"` // texts, or objects for images and files
			} `json:"content"`
		} `json:"message"`
	} `json:"mapping"`
}

func (c chatGPTConversation) chat() chat {
	out := chat{program: "chatgpt", id: cmp.Or(c.ConversationID, c.ID), title: c.Title, created: timeFromUnix(c.Created), updated: timeFromUnix(c.Updated), currentID: c.CurrentID}
	for id, node := range c.Nodes {
		m := node.Message
		var texts []string
		for _, p := range m.Content.Parts {
			var s string
			if json.Unmarshal(p, &s) == nil {
				texts = append(texts, s)
			}
		}
		if out.messagesByID == nil {
			out.messagesByID = map[string]message{}
		}
		out.messagesByID[id] = message{parentID: node.Parent, role: m.Author.Role, text: joinTexts(texts), foreignID: m.ID, created: timeFromUnix(m.Created)}
	}
	return out
}

// claudeConversation is an item of conversations.json in a Claude account's export: a list of
// messages or, in newer exports, a tree. Attachments are skipped, since other people may have written them.
type claudeConversation struct {
	UUID      string          `json:"uuid"`
	Name      string          `json:"name"`
	CreatedAt string          `json:"created_at"`
	UpdatedAt string          `json:"updated_at"`
	LeafID    string          `json:"current_leaf_message_uuid"`
	Messages  []claudeMessage `json:"chat_messages"`
}

type claudeMessage struct {
	ID       string `json:"uuid"`
	ParentID string `json:"parent_message_uuid"` // "" means the previous message in the list
	Sender   string `json:"sender"`
	Text     string `json:"text"`
	Content  []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Created string `json:"created_at"`
}

func (c claudeConversation) chat() chat {
	out := chat{program: "claude", id: c.UUID, title: c.Name, created: parseTime(c.CreatedAt), updated: parseTime(c.UpdatedAt), messagesByID: map[string]message{}}
	roles := map[string]memory.Role{"human": memory.RoleUser, "assistant": memory.RoleAssistant}
	previous := ""
	for i, m := range c.Messages {
		id := cmp.Or(m.ID, fmt.Sprint(i))
		if _, exists := out.messagesByID[id]; exists {
			continue
		}
		out.messagesByID[id] = message{parentID: cmp.Or(m.ParentID, previous), role: roles[m.Sender], text: m.joinedText(), foreignID: m.ID, created: parseTime(m.Created)}
		previous = id
	}
	out.currentID = previous
	if _, found := out.messagesByID[c.LeafID]; found {
		out.currentID = c.LeafID
	}
	return out
}

// joinedText returns a message's text. If the message has parts, it joins the texts in Content, since the
// field Text then contains placeholders for parts without text.
func (m claudeMessage) joinedText() string {
	var texts []string
	for _, p := range m.Content {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	text := joinTexts(texts)
	if text == "" && (len(m.Content) == 0 || m.Sender == "human") {
		return joinTexts([]string{m.Text})
	}
	return text
}

// joinTexts joins the texts that are not blank, one per line.
func joinTexts(texts []string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" }), "\n")
}
