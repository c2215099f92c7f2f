package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

func (d chatAPI) chatOperations(a adder) {
	owned(a, http.MethodGet, "/api/contexts", "list-contexts", "The documents that can be attached to chats", d.contexts)
	owned(a, http.MethodPost, "/api/contexts", "add-context", "Write a context", d.addContext, created)
	owned(a, http.MethodGet, "/api/contexts/{id}", "get-context", "One context", d.context)
	owned(a, http.MethodPatch, "/api/contexts/{id}", "edit-context", "Change a context", d.editContext)
	owned(a, http.MethodDelete, "/api/contexts/{id}", "delete-context", "Take a context away", d.dropContext)
	owned(a, http.MethodGet, "/api/chats", "list-chats", "The chats, those used last first", d.chats)
	owned(a, http.MethodPost, "/api/chats", "add-chat", "Make a chat", d.newChat, created)
	owned(a, http.MethodGet, "/api/chats/{id}", "get-chat", "One chat with what was said in it", d.chat)
	owned(a, http.MethodPatch, "/api/chats/{id}", "edit-chat", "Change a chat's title, contexts or rules", d.editChat)
	owned(a, http.MethodDelete, "/api/chats/{id}", "delete-chat", "Delete a chat", d.deleteChat)
}

func (d chatAPI) contexts(ctx context.Context, by caller, in *Then) (out client.Contexts, err error) {
	all, err := d.engine.Contexts(ctx, by.owner, in.at())
	if err != nil {
		return out, err
	}
	return client.Contexts{Contexts: each(all, contextView)}, nil
}

func (d chatAPI) context(ctx context.Context, by caller, in *getInput) (client.ContextDocument, error) {
	return viewed(contextView)(d.engine.Retrieve.ContextAt(ctx, by.owner, in.ID, in.at()))
}

type addContextInput struct {
	Idempotent
	Body client.WriteContext
}

func (d chatAPI) addContext(ctx context.Context, by caller, in *addContextInput) (client.ContextDocument, error) {
	return viewed(contextView)(d.engine.Curate.AddContext(ctx, by.owner, contextEdit(in.Body, in.Key), by.author))
}

type editContextInput struct {
	ByID
	Idempotent
	Body client.WriteContext
}

func (d chatAPI) editContext(ctx context.Context, by caller, in *editContextInput) (client.ContextDocument, error) {
	return viewed(contextView)(d.engine.Curate.EditContext(ctx, by.owner, in.ID, contextEdit(in.Body, in.Key), by.author))
}

type dropContextInput struct {
	ByID
	Erase bool `query:"erase" doc:"Remove its words for good: this cannot be undone."`
}

func (d chatAPI) dropContext(ctx context.Context, by caller, in *dropContextInput) (client.Receipt, error) {
	return viewed(receipt)(d.engine.Curate.DropContext(ctx, by.owner, in.ID, in.Erase, by.author))
}

func contextEdit(w client.WriteContext, key string) curate.ContextEdit {
	return curate.ContextEdit{Title: w.Title, Content: w.Content, Idempotency: key}
}

func contextView(c memory.Context) client.ContextDocument {
	return client.ContextDocument{ID: c.ID, Title: c.Title, Content: c.Content, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
}

func (d chatAPI) chats(ctx context.Context, by caller, in *client.ChatsQuery) (out client.Chats, err error) {
	page, err := d.engine.Chats.Chats(ctx, by.owner, memory.ConversationQuery{Project: in.Project, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	return client.Chats{Chats: each(page.Conversations, chatView), Next: page.Next}, nil
}

func (d chatAPI) chat(ctx context.Context, by caller, in *ByID) (out client.WholeChat, err error) {
	c, err := d.engine.Chats.Chat(ctx, by.owner, in.ID)
	if err != nil {
		return out, err
	}
	said, err := d.engine.Chats.Said(ctx, by.owner, in.ID)
	if err != nil {
		return out, err
	}
	out = client.WholeChat{Chat: chatView(c), Messages: make([]client.ChatMessage, 0, len(said))}
	for _, t := range said {
		out.Messages = append(out.Messages, *messageView(&t))
	}
	return out, nil
}

type newChatInput struct {
	Idempotent
	Body client.NewChat
}

func (d chatAPI) newChat(ctx context.Context, by caller, in *newChatInput) (client.Chat, error) {
	return viewed(chatView)(d.engine.Chats.NewChat(ctx, by.owner, in.Body.Project, chatEdit(in.Body.WriteChat, in.Key)))
}

type editChatInput struct {
	ByID
	Idempotent
	Body client.WriteChat
}

func (d chatAPI) editChat(ctx context.Context, by caller, in *editChatInput) (client.Chat, error) {
	return viewed(chatView)(d.engine.Chats.EditChat(ctx, by.owner, in.ID, chatEdit(in.Body, in.Key), by.author))
}

type deleteChatInput struct {
	ByID
	Facts bool `query:"facts" doc:"Also forget what was learned from this chat alone."`
}

func (d chatAPI) deleteChat(ctx context.Context, by caller, in *deleteChatInput) (client.Receipt, error) {
	return viewed(receipt)(d.engine.Chats.DeleteChat(ctx, by.owner, in.ID, in.Facts, by.author))
}

func chatEdit(w client.WriteChat, key string) chats.ChatEdit {
	return chats.ChatEdit{Title: w.Title, Contexts: w.Contexts, Rules: w.Rules, Idempotency: key}
}

func chatView(c memory.Conversation) client.Chat {
	return client.Chat{
		ID: c.ID, Title: c.Title, Project: c.Project, Contexts: append([]string{}, c.Contexts...), Rules: c.Rules,
		MessageCount: c.MessageCount, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}
