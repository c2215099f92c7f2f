package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// Contexts returns an owner's contexts, those made last first.
func (e *Engine) Contexts(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.Context, error) {
	all, err := e.Store.Contexts(ctx, owner, at)
	slices.SortFunc(all, func(a, b memory.Context) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, err
}

// Context returns one, or [memory.NotFound].
func (e *Engine) Context(ctx context.Context, owner memory.Owner, id string) (memory.Context, error) {
	found, err := e.Store.Contexts(ctx, owner, memory.At{}, id)
	if err != nil {
		return memory.Context{}, err
	}
	if len(found) == 0 {
		return memory.Context{}, memory.Errorf(memory.NotFound, "there is no context %q", clip(id, 60))
	}
	return found[0], nil
}

// ContextEdit is what is written of a context; what is nil stays as it is.
type ContextEdit struct {
	Title       *string
	Content     *string
	Idempotency string // the same key again returns what was written then
}

// AddContext writes a context by hand.
func (e *Engine) AddContext(ctx context.Context, owner memory.Owner, edit ContextEdit, author memory.Author) (memory.Context, error) {
	ctx = memory.ForWrite(ctx)
	next := memory.Context{ID: newID(), Owner: owner, Status: memory.Active, CreatedAt: e.now(), UpdatedAt: e.now()}
	if edit.Idempotency != "" {
		next.ID = derivedID(owner, "context", edit.Idempotency)
	}
	if edit.Content == nil {
		return memory.Context{}, memory.Errorf(memory.Invalid, "content: is missing")
	}
	if err := e.write(&next, edit); err != nil {
		return memory.Context{}, err
	}
	return e.applyContext(ctx, next, edit.Idempotency, memory.Change{Action: memory.ActionAdd, Reason: "written by hand"}, author)
}

// EditContext changes a context by hand. What somebody else changes of it meanwhile stays.
func (e *Engine) EditContext(ctx context.Context, owner memory.Owner, id string, edit ContextEdit, author memory.Author) (next memory.Context, err error) {
	ctx = memory.ForWrite(ctx)
	err = replan(ctx, func() error {
		was, err := e.Context(ctx, owner, id)
		if err != nil {
			return err
		}
		next = was
		if err := e.write(&next, edit); err != nil || next == was {
			return err
		}
		next.UpdatedAt = e.now()
		change := memory.Change{Action: memory.ActionUpdate, Base: was.Version, Reason: "edited by hand"}
		next, err = e.applyContext(ctx, next, edit.Idempotency, change, author)
		return err
	})
	if err != nil {
		return memory.Context{}, err
	}
	return next, nil
}

func (e *Engine) write(c *memory.Context, edit ContextEdit) (err error) {
	if edit.Content != nil {
		if c.Content, err = e.checkText("content", *edit.Content); err != nil {
			return err
		}
	}
	if edit.Title != nil {
		c.Title, err = e.checkLine("title", *edit.Title)
	}
	return err
}

// checkLine returns the text on one line, which may be empty, or Invalid or TooLarge.
func (e *Engine) checkLine(field, s string) (string, error) {
	line := strings.Join(strings.Fields(s), " ")
	switch {
	case !utf8.ValidString(s):
		return "", memory.Errorf(memory.Invalid, "%s: is not valid UTF-8", field)
	case len(line) > maxTitleBytes:
		return "", memory.Errorf(memory.TooLarge, "%s: has %d bytes, more than %d", field, len(line), maxTitleBytes)
	}
	return line, nil
}

// maxTitleBytes is how many bytes a title given by hand has at most.
const maxTitleBytes = 500

func (e *Engine) applyContext(ctx context.Context, next memory.Context, key string, c memory.Change, author memory.Author) (memory.Context, error) {
	c.After = memory.Image{Context: &next}
	run := memory.Run{ID: newID(), Kind: "manual", Author: author}
	if key != "" {
		run.ID = idFor(next.Owner, "context "+next.ID+" "+key)
	}
	receipt, err := e.Store.Apply(ctx, next.Owner, run, c)
	if err != nil {
		return memory.Context{}, err
	}
	if receipt.Again {
		return e.Context(ctx, next.Owner, next.ID)
	}
	next.Version = receipt.Version
	return next, nil
}

// DropContext takes a context away, in a run that can be undone. Conversations that it
// is attached to go on naming it; it is in their prompts again if it comes back. With
// erase its words are removed for good.
func (e *Engine) DropContext(ctx context.Context, owner memory.Owner, id string, erase bool, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	gone, err := e.Context(ctx, owner, id)
	if erase {
		if err != nil && !errors.Is(err, memory.NotFound) { // one that was taken away before has words, too
			return memory.Receipt{}, err
		}
		eraser, ok := e.Store.(memory.Eraser)
		if !ok {
			return memory.Receipt{}, memory.Errorf(memory.Unavailable, "what is kept in this store cannot be erased by Loci")
		}
		receipt, failed := eraser.Erase(ctx, owner, memory.Run{ID: newID(), Kind: "erase", Author: author}, id)
		if failed == nil && receipt.Changes == 0 {
			failed = memory.Errorf(memory.NotFound, "there is no context %q", clip(id, 60))
		}
		return receipt, failed
	}
	if err != nil {
		return memory.Receipt{}, err
	}
	base := gone.Version
	gone.Status, gone.UpdatedAt = memory.Retired, e.now()
	return e.Store.Apply(ctx, owner, memory.Run{ID: newID(), Kind: "forget", Author: author}, memory.Change{
		Action: memory.ActionRetire, After: memory.Image{Context: &gone}, Base: base, Reason: "taken away by hand",
	})
}

// contextsOf returns the contexts that are attached to a conversation, in the order in
// which they were.
func (e *Engine) contextsOf(ctx context.Context, owner memory.Owner, conversation string) ([]memory.Context, error) {
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{conversation}})
	if err != nil {
		return nil, fmt.Errorf("read what is attached: %w", err)
	}
	if len(page.Conversations) == 0 {
		return nil, nil
	}
	return e.contextsNamed(ctx, owner, page.Conversations[0].Contexts)
}

// contextsNamed returns contexts in the order of ids. Those that are not there are left
// out, and one that is named twice comes once.
func (e *Engine) contextsNamed(ctx context.Context, owner memory.Owner, ids []string) ([]memory.Context, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := e.Store.Contexts(ctx, owner, memory.At{}, ids...)
	if err != nil {
		return nil, fmt.Errorf("read contexts: %w", err)
	}
	slices.SortFunc(found, func(a, b memory.Context) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return found, nil
}
