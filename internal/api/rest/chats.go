package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

func (d *door) chatOperations(a adder) {
	operation(a, http.MethodGet, "/api/contexts", "list-contexts", "The documents that can be attached to chats", d.contexts)
	operation(a, http.MethodPost, "/api/contexts", "add-context", "Write a context", d.addContext, created)
	operation(a, http.MethodGet, "/api/contexts/{id}", "get-context", "One context", d.context)
	operation(a, http.MethodPatch, "/api/contexts/{id}", "edit-context", "Change a context", d.editContext)
	operation(a, http.MethodDelete, "/api/contexts/{id}", "delete-context", "Take a context away", d.dropContext)
	operation(a, http.MethodGet, "/api/chats", "list-chats", "The chats, those used last first", d.chats)
	operation(a, http.MethodPost, "/api/chats", "add-chat", "Make a chat", d.newChat, created)
	operation(a, http.MethodGet, "/api/chats/{id}", "get-chat", "One chat with what was said in it", d.chat)
	operation(a, http.MethodPatch, "/api/chats/{id}", "edit-chat", "Change a chat's title, contexts or rules", d.editChat)
	operation(a, http.MethodDelete, "/api/chats/{id}", "delete-chat", "Delete a chat", d.deleteChat)
}

func (d *door) contexts(ctx context.Context, in *Then) (*body[client.Contexts], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	all, err := d.engine.Contexts(ctx, owner, in.at())
	if err != nil {
		return nil, err
	}
	out := client.Contexts{Contexts: make([]client.ContextDocument, 0, len(all))}
	for _, c := range all {
		out.Contexts = append(out.Contexts, contextView(c))
	}
	return answer(out), nil
}

func (d *door) context(ctx context.Context, in *getInput) (*body[client.ContextDocument], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	return contextAnswer(d.engine.Retrieve.ContextAt(ctx, owner, in.ID, in.at()))
}

type addContextInput struct {
	Idempotent
	Body client.WriteContext
}

func (d *door) addContext(ctx context.Context, in *addContextInput) (*body[client.ContextDocument], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	return contextAnswer(d.engine.Curate.AddContext(ctx, owner, contextEdit(in.Body, in.Key), author))
}

type editContextInput struct {
	ByID
	Idempotent
	Body client.WriteContext
}

func (d *door) editContext(ctx context.Context, in *editContextInput) (*body[client.ContextDocument], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	return contextAnswer(d.engine.Curate.EditContext(ctx, owner, in.ID, contextEdit(in.Body, in.Key), author))
}

type dropContextInput struct {
	ByID
	Erase bool `query:"erase" doc:"Remove its words for good: this cannot be undone."`
}

func (d *door) dropContext(ctx context.Context, in *dropContextInput) (*body[client.Receipt], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.engine.Curate.DropContext(ctx, owner, in.ID, in.Erase, author)
	if err != nil {
		return nil, err
	}
	return answer(receipt(r)), nil
}

func contextEdit(w client.WriteContext, key string) curate.ContextEdit {
	return curate.ContextEdit{Title: w.Title, Content: w.Content, Idempotency: key}
}

func contextAnswer(c memory.Context, err error) (*body[client.ContextDocument], error) {
	if err != nil {
		return nil, err
	}
	return answer(contextView(c)), nil
}

func contextView(c memory.Context) client.ContextDocument {
	return client.ContextDocument{ID: c.ID, Title: c.Title, Content: c.Content, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
}

func (d *door) chats(ctx context.Context, in *client.ChatsQuery) (*body[client.Chats], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	page, err := d.engine.Chats.Chats(ctx, owner, memory.ConversationQuery{Project: in.Project, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	out := client.Chats{Chats: make([]client.Chat, 0, len(page.Conversations)), Next: page.Next}
	for _, c := range page.Conversations {
		out.Chats = append(out.Chats, chatView(c))
	}
	return answer(out), nil
}

func (d *door) chat(ctx context.Context, in *ByID) (*body[client.WholeChat], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	c, err := d.engine.Chats.Chat(ctx, owner, in.ID)
	if err != nil {
		return nil, err
	}
	said, err := d.engine.Chats.Said(ctx, owner, in.ID)
	if err != nil {
		return nil, err
	}
	out := client.WholeChat{Chat: chatView(c), Messages: make([]client.ChatMessage, 0, len(said))}
	for _, t := range said {
		out.Messages = append(out.Messages, *messageView(&t))
	}
	return answer(out), nil
}

type newChatInput struct {
	Idempotent
	Body client.NewChat
}

func (d *door) newChat(ctx context.Context, in *newChatInput) (*body[client.Chat], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	return chatAnswer(d.engine.Chats.NewChat(ctx, owner, in.Body.Project, chatEdit(in.Body.WriteChat, in.Key)))
}

type editChatInput struct {
	ByID
	Idempotent
	Body client.WriteChat
}

func (d *door) editChat(ctx context.Context, in *editChatInput) (*body[client.Chat], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	return chatAnswer(d.engine.Chats.EditChat(ctx, owner, in.ID, chatEdit(in.Body, in.Key), author))
}

type deleteChatInput struct {
	ByID
	Facts bool `query:"facts" doc:"Also forget what was learned from this chat alone."`
}

func (d *door) deleteChat(ctx context.Context, in *deleteChatInput) (*body[client.Receipt], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.engine.Chats.DeleteChat(ctx, owner, in.ID, in.Facts, author)
	if err != nil {
		return nil, err
	}
	return answer(receipt(r)), nil
}

func chatEdit(w client.WriteChat, key string) chats.ChatEdit {
	return chats.ChatEdit{Title: w.Title, Contexts: w.Contexts, Rules: w.Rules, Idempotency: key}
}

func chatAnswer(c memory.Conversation, err error) (*body[client.Chat], error) {
	if err != nil {
		return nil, err
	}
	return answer(chatView(c)), nil
}

func chatView(c memory.Conversation) client.Chat {
	return client.Chat{
		ID: c.ID, Title: c.Title, Project: c.Project, Contexts: append([]string{}, c.Contexts...), Rules: c.Rules,
		MessageCount: c.MessageCount, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}
