package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/files"
	"github.com/loci-memory/loci/memory"
)

func TestContextsAndChatsAreEditedInFiles(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		says := &memory.Context{Owner: ana, Title: "style", Content: "Short sentences.", Status: memory.Active}
		target := try(r.Files.ApplyEdit(ctx, files.FileEdit{Owner: ana, IdempotencyKey: "1", Content: memory.FileContent{Context: says}})).orFail(t)
		id := target[len("context:"):]
		was := try(r.Context(ctx, ana, id, memory.At{})).orFail(t)
		next := was
		next.Content = "Short words."
		noError(t)(r.Files.ApplyEdit(ctx, files.FileEdit{Owner: ana, IdempotencyKey: "2", Stored: memory.FileContent{Context: &was}, Content: memory.FileContent{Context: &next}}))
		now := try(r.Context(ctx, ana, id, memory.At{})).orFail(t)
		if now.Content != "Short words." || now.Title != "style" {
			t.Errorf("got %+v", now)
		}

		chat := try(r.Chats.NewChat(ctx, ana, "", chats.ChatEdit{})).orFail(t)
		edited := chat
		edited.Title, edited.Contexts = "Trip", []string{id}
		noError(t)(r.Files.ApplyEdit(ctx, files.FileEdit{Owner: ana, IdempotencyKey: "3", Stored: memory.FileContent{Conversation: &chat}, Content: memory.FileContent{Conversation: &edited}}))
		if c := try(r.Chats.Chat(ctx, ana, chat.ID)).orFail(t); c.Title != "Trip" || len(c.Contexts) != 1 {
			t.Errorf("got %+v", c)
		}

		noError(t)(r.Files.ApplyEdit(ctx, files.FileEdit{Owner: ana, IdempotencyKey: "4", Stored: memory.FileContent{Context: &now}}))
		if _, err := r.Context(ctx, ana, id, memory.At{}); !errors.Is(err, memory.NotFound) {
			t.Errorf("its file was deleted: %v", err)
		}
	})
}
