package files

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// applyContextEdit applies the edit of a context's file.
func (e *Files) applyContextEdit(ctx context.Context, edit FileEdit) (string, error) {
	content := *edit.Content.Context
	next := memory.Context{ID: content.ID, Owner: edit.Owner, CreatedAt: memory.Time(content.CreatedAt)}
	action, stored := memory.ActionAdd, edit.Stored.Context
	if stored != nil {
		if next, action = *stored, actionForStatus(stored.Status, content.Status); stored.Title+stored.Content == "" {
			return "", core.ErrErased("context:" + stored.ID)
		}
	}
	if err := e.Curate.ApplyContextEdit(&next, curate.ContextEdit{Title: &content.Title, Content: &content.Content}); err != nil {
		return "", err
	}
	if next.Status = content.Status; next.ID == "" {
		next.ID = core.DerivedID(edit.Owner, "file", edit.IdempotencyKey)
	}
	if next.CreatedAt.IsZero() {
		next.CreatedAt = e.Time()
	}
	needed := stored == nil || next != *stored
	next.UpdatedAt = e.Time()
	if edit.FromOtherMachine { // store the file's time even if all other fields are equal
		needed, next.UpdatedAt = true, memory.Time(content.UpdatedAt)
	}
	return e.applyChange(ctx, edit, action, memory.State{Context: &next}, needed)
}

// applyConversationEdit applies the edit of a conversation's file: title, contexts and rules.
func (e *Files) applyConversationEdit(ctx context.Context, edit FileEdit) (string, error) {
	stored, content := edit.Stored.Conversation, edit.Content.Conversation
	if stored.Status != content.Status {
		return "", memory.Errorf(memory.Invalid, "a chat cannot be deleted by moving its file: move the file back")
	}
	mark := stored.State()
	if err := e.Chats.ApplyChatEdit(ctx, edit.Owner, &mark, chats.ChatEdit{Title: &content.Title, Contexts: &content.Contexts, Rules: &content.Rules}); err != nil {
		return "", err
	}
	needed := mark.Title != stored.Title || mark.Rules != stored.Rules || !slices.Equal(mark.Contexts, stored.Contexts)
	return e.applyChange(ctx, edit, memory.ActionUpdate, memory.State{Conversation: &mark}, needed)
}
