package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

type deleteContextInput struct {
	ByID
	Erase bool `query:"erase" doc:"Delete the text permanently. This cannot be undone."`
}

func (d *handler) addContextOperations(a registrar) {
	registerForCaller(a, http.MethodGet, "/api/contexts", "list-contexts", "List the documents that can be attached to chats", func(ctx context.Context, by caller, in *ReadTime) (client.Contexts, error) {
		all, err := d.engine.Contexts(ctx, by.owner, in.at())
		return client.Contexts{Contexts: mapSlice(all, contextView)}, err
	})
	registerForCaller(a, http.MethodPost, "/api/contexts", "add-context", "Add a context", func(ctx context.Context, by caller, in *writeRequest[client.WriteContext]) (client.ContextDocument, error) {
		return mapResult(contextView)(d.engine.Curate.AddContext(ctx, by.owner, contextEdit(in.Body, in.Key), by.author))
	}, withStatusCreated)
	registerForCaller(a, http.MethodGet, "/api/contexts/{id}", "get-context", "Get one context", func(ctx context.Context, by caller, in *getMemoryInput) (client.ContextDocument, error) {
		return mapResult(contextView)(d.engine.Context(ctx, by.owner, in.ID, in.at()))
	})
	registerForCaller(a, http.MethodPatch, "/api/contexts/{id}", "edit-context", "Change a context", func(ctx context.Context, by caller, in *changeRequest[client.WriteContext]) (client.ContextDocument, error) {
		return mapResult(contextView)(d.engine.Curate.EditContext(ctx, by.owner, in.ID, contextEdit(in.Body, in.Key), by.author))
	})
	registerForCaller(a, http.MethodDelete, "/api/contexts/{id}", "delete-context", "Delete a context", func(ctx context.Context, by caller, in *deleteContextInput) (client.Receipt, error) {
		return mapResult(receiptView)(d.engine.Curate.RemoveContext(ctx, by.owner, in.ID, in.Erase, by.author))
	})
}

func contextEdit(w client.WriteContext, idempotencyKey string) curate.ContextEdit {
	return curate.ContextEdit{Title: w.Title, Content: w.Content, IdempotencyKey: idempotencyKey}
}

func contextView(c memory.Context) client.ContextDocument {
	return client.ContextDocument{ID: c.ID, Title: c.Title, Content: c.Content, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
}

type deleteChatInput struct {
	ByID
	Facts bool `query:"facts" doc:"Also forget facts learned only from this chat."`
}

func (d *handler) addChatOperations(a registrar) {
	registerForCaller(a, http.MethodGet, "/api/chats", "list-chats", "List chats, most recently used first", func(ctx context.Context, by caller, in *client.ChatsQuery) (client.Chats, error) {
		page, err := d.engine.Chats.ListChats(ctx, by.owner, memory.ConversationQuery{Project: in.Project, Limit: in.Limit, Cursor: in.Cursor})
		return client.Chats{Chats: mapSlice(page.Conversations, chatView), Next: page.Next}, err
	})
	registerForCaller(a, http.MethodPost, "/api/chats", "add-chat", "Create a chat", func(ctx context.Context, by caller, in *writeRequest[client.NewChat]) (client.Chat, error) {
		return mapResult(chatView)(d.engine.Chats.NewChat(ctx, by.owner, in.Body.Project, chatEdit(in.Body.WriteChat, in.Key)))
	}, withStatusCreated)
	registerForCaller(a, http.MethodGet, "/api/chats/{id}", "get-chat", "Get one chat with its messages", func(ctx context.Context, by caller, in *ByID) (out client.WholeChat, err error) {
		c, err := d.engine.Chats.Chat(ctx, by.owner, in.ID)
		if err != nil {
			return out, err
		}
		turns, err := d.engine.Chats.Turns(ctx, by.owner, in.ID)
		return client.WholeChat{Chat: chatView(c), Messages: mapSlice(turns, func(t memory.Turn) client.ChatMessage { return *messageView(&t) })}, err
	})
	registerForCaller(a, http.MethodPatch, "/api/chats/{id}", "edit-chat", "Change a chat's title, contexts or rules", func(ctx context.Context, by caller, in *changeRequest[client.WriteChat]) (client.Chat, error) {
		return mapResult(chatView)(d.engine.Chats.EditChat(ctx, by.owner, in.ID, chatEdit(in.Body, in.Key), by.author))
	})
	registerForCaller(a, http.MethodDelete, "/api/chats/{id}", "delete-chat", "Delete a chat", func(ctx context.Context, by caller, in *deleteChatInput) (client.Receipt, error) {
		return mapResult(receiptView)(d.engine.Chats.DeleteChat(ctx, by.owner, in.ID, in.Facts, by.author))
	})
}

func chatEdit(w client.WriteChat, idempotencyKey string) chats.ChatEdit {
	return chats.ChatEdit{Title: w.Title, Contexts: w.Contexts, Rules: w.Rules, IdempotencyKey: idempotencyKey}
}

func chatView(c memory.Conversation) client.Chat {
	return client.Chat{
		ID: c.ID, Title: c.Title, Project: c.Project, Contexts: append([]string{}, c.Contexts...), Rules: c.Rules,
		MessageCount: c.MessageCount, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}
