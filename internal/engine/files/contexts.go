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
func (e *Files) contextFile(ctx context.Context, edit FileEdit) (string, error) {
	says := *edit.Says.Context
	next := memory.Context{ID: says.ID, Owner: edit.Owner, CreatedAt: memory.Time(says.CreatedAt)}
	action, was := memory.ActionAdd, edit.Was.Context
	if was != nil {
		if next, action = *was, actionOf(was.Status, says.Status); was.Title+was.Content == "" {
			return "", core.ErrErased("context:" + was.ID)
		}
	}
	if err := e.Curate.Write(&next, curate.ContextEdit{Title: &says.Title, Content: &says.Content}); err != nil {
		return "", err
	}
	if next.Status = says.Status; next.ID == "" {
		next.ID = core.DerivedID(edit.Owner, "file", edit.Key)
	}
	if next.CreatedAt.IsZero() {
		next.CreatedAt = e.Time()
	}
	needed := was == nil || next != *was
	next.UpdatedAt = e.Time()
	if edit.Elsewhere { // the contexts differ, so a change is needed
		needed, next.UpdatedAt = true, memory.Time(says.UpdatedAt)
	}
	return e.applyFile(ctx, edit, action, memory.Image{Context: &next}, needed)
}

// applyConversationEdit applies the edit of a conversation's file: title, contexts and rules.
func (e *Files) chatFile(ctx context.Context, edit FileEdit) (string, error) {
	was, says := edit.Was.Conversation, edit.Says.Conversation
	if was.Status != says.Status {
		return "", memory.Errorf(memory.Invalid, "moving its file does not delete a chat: move the file back")
	}
	mark := was.Mark()
	if err := e.Chats.WriteChat(ctx, edit.Owner, &mark, chats.ChatEdit{Title: &says.Title, Contexts: &says.Contexts, Rules: &says.Rules}); err != nil {
		return "", err
	}
	needed := mark.Title != was.Title || mark.Rules != was.Rules || !slices.Equal(mark.Contexts, was.Contexts)
	return e.applyFile(ctx, edit, memory.ActionUpdate, memory.Image{Conversation: &mark}, needed)
}
