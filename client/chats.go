package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ContextDocument is a document that the user attaches to chats. The prompts of these chats contain its whole
// text, and Loci does not learn from it.
type ContextDocument struct {
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	Content   string    `json:"content"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Contexts lists all context documents.
type Contexts struct {
	Contexts []ContextDocument `json:"contexts" doc:"Newest first."`
}

// WriteContext is an edit of a context document. A nil field is not changed.
type WriteContext struct {
	Title   *string `json:"title,omitempty"`
	Content *string `json:"content,omitempty"`
}

// Chat is a conversation, without its messages.
type Chat struct {
	ID           string    `json:"id" doc:"Id of the chat; in /v1/chat/completions it is the memory_id."`
	Title        string    `json:"title,omitempty"`
	Project      string    `json:"project,omitempty"`
	Contexts     []string  `json:"contexts" doc:"Ids of the attached context documents, in the order of the prompt."`
	Rules        string    `json:"rules,omitempty"`
	MessageCount int       `json:"message_count"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// Chats is a page of chats.
type Chats struct {
	Chats []Chat `json:"chats" doc:"Most recently used first."`
	Next  string `json:"next_cursor,omitempty"`
}

// ChatsQuery selects chats. An empty Project selects all projects.
type ChatsQuery struct {
	Project string `query:"project"`
	Limit   int    `query:"limit" doc:"Chats in a page; 0 means 50; at most 500."`
	Cursor  string `query:"cursor"`
}

// WholeChat is a chat with its messages.
type WholeChat struct {
	Chat
	Messages []ChatMessage `json:"messages" doc:"The messages of the current path, in order."`
}

// ChatMessage is one turn of a chat.
type ChatMessage struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Content   string    `json:"content"`
	CreatedAt time.Time `json:"created_at"`
}

// WriteChat is an edit of a chat. A nil field is not changed.
type WriteChat struct {
	Title    *string   `json:"title,omitempty"`
	Contexts *[]string `json:"contexts,omitempty" doc:"Ids of existing context documents."`
	Rules    *string   `json:"rules,omitempty"`
}

// NewChat contains the fields of a chat to create.
type NewChat struct {
	Project string `json:"project,omitempty"`
	WriteChat
}

// Contexts returns all context documents.
func (c *Client) Contexts(ctx context.Context) (Contexts, error) {
	return get[Contexts](ctx, c, "/api/contexts")
}

// AddContext creates a context document.
func (c *Client) AddContext(ctx context.Context, w WriteContext) (ContextDocument, error) {
	return post[ContextDocument](ctx, c, "/api/contexts", w)
}

// EditContext changes a context document.
func (c *Client) EditContext(ctx context.Context, id string, w WriteContext) (ContextDocument, error) {
	return call[ContextDocument](ctx, c, http.MethodPatch, "/api/contexts/"+url.PathEscape(id), w)
}

// DropContext removes a context document. With erase, its text is removed permanently.
func (c *Client) DropContext(ctx context.Context, id string, erase bool) (Receipt, error) {
	return remove[Receipt](ctx, c, "/api/contexts/"+url.PathEscape(id)+"?erase="+strconv.FormatBool(erase))
}

// Chat returns a chat with its messages.
func (c *Client) Chat(ctx context.Context, id string) (WholeChat, error) {
	return get[WholeChat](ctx, c, "/api/chats/"+url.PathEscape(id))
}

// NewChat creates a chat.
func (c *Client) NewChat(ctx context.Context, w NewChat) (Chat, error) {
	return post[Chat](ctx, c, "/api/chats", w)
}

// EditChat changes a chat.
func (c *Client) EditChat(ctx context.Context, id string, w WriteChat) (Chat, error) {
	return call[Chat](ctx, c, http.MethodPatch, "/api/chats/"+url.PathEscape(id), w)
}

// DeleteChat deletes a chat. With forgetFacts, it also forgets the facts learned only from this chat.
func (c *Client) DeleteChat(ctx context.Context, id string, forgetFacts bool) (Receipt, error) {
	return remove[Receipt](ctx, c, "/api/chats/"+url.PathEscape(id)+"?facts="+strconv.FormatBool(forgetFacts))
}
