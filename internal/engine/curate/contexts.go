package curate

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// ContextEdit is an edit of a context. A nil field leaves the context's field unchanged.
type ContextEdit struct {
	Title          *string
	Content        *string
	IdempotencyKey string // a repeated key returns the first result
}

// AddContext adds a context that a person wrote.
func (e *Curator) AddContext(ctx context.Context, owner memory.Owner, edit ContextEdit, author memory.Author) (memory.Context, error) {
	ctx = memory.ForWrite(ctx)
	next := memory.Context{ID: core.NewID(), Owner: owner, Status: memory.Active, CreatedAt: e.Time(), UpdatedAt: e.Time()}
	if edit.IdempotencyKey != "" {
		next.ID = core.DerivedID(owner, "context", edit.IdempotencyKey)
	}
	if edit.Content == nil {
		return memory.Context{}, memory.Errorf(memory.Invalid, "content: is missing")
	}
	if err := e.ApplyContextEdit(&next, edit); err != nil {
		return memory.Context{}, err
	}
	return e.writeContext(ctx, next, edit.IdempotencyKey, memory.Change{Action: memory.ActionAdd, Reason: "written by hand"}, author)
}

// EditContext applies a person's edit to a context. Concurrent changes of other fields are retained.
func (e *Curator) EditContext(ctx context.Context, owner memory.Owner, id string, edit ContextEdit, author memory.Author) (next memory.Context, err error) {
	ctx = memory.ForWrite(ctx)
	err = core.RetryOnConflict(ctx, func() error {
		previous, err := e.Context(ctx, owner, id, memory.At{})
		if err != nil {
			return err
		}
		next = previous
		if err := e.ApplyContextEdit(&next, edit); err != nil || next == previous {
			return err
		}
		next.UpdatedAt = e.Time()
		change := memory.Change{Action: memory.ActionUpdate, Base: previous.Version, Reason: "edited by hand"}
		next, err = e.writeContext(ctx, next, edit.IdempotencyKey, change, author)
		return err
	})
	if err != nil {
		return memory.Context{}, err
	}
	return next, nil
}

// ApplyContextEdit applies an edit to a context.
func (e *Curator) ApplyContextEdit(c *memory.Context, edit ContextEdit) (err error) {
	if edit.Content != nil {
		if c.Content, err = e.CheckText("content", *edit.Content); err != nil {
			return err
		}
	}
	if edit.Title != nil {
		c.Title, err = e.CheckLine("title", *edit.Title)
	}
	return err
}

// CheckLine returns the text as one line, which may be empty, or an Invalid or TooLarge error.
func (e *Curator) CheckLine(field, s string) (string, error) {
	line := strings.Join(strings.Fields(s), " ")
	switch {
	case !utf8.ValidString(s):
		return "", memory.Errorf(memory.Invalid, "%s: is not valid UTF-8", field)
	case len(line) > MaxTitleBytes:
		return "", memory.Errorf(memory.TooLarge, "%s: has %d bytes, more than %d", field, len(line), MaxTitleBytes)
	}
	return line, nil
}

// MaxTitleBytes is the maximum length of a title that a person sets.
const MaxTitleBytes = 500

func (e *Curator) writeContext(ctx context.Context, next memory.Context, key string, change memory.Change, author memory.Author) (memory.Context, error) {
	change.After = memory.State{Context: &next}
	run := memory.Run{ID: core.NewID(), Kind: "manual", Author: author}
	if key != "" {
		run.ID = core.IDForKey(next.Owner, "context "+next.ID+" "+key)
	}
	receipt, err := e.Store.Apply(ctx, next.Owner, run, change)
	if err != nil {
		return memory.Context{}, err
	}
	if receipt.Again {
		return e.Context(ctx, next.Owner, next.ID, memory.At{})
	}
	next.Version = receipt.Version
	return next, nil
}

// RemoveContext retires a context in a run that can be undone. Conversations retain its id, so a
// restored context is in their prompts again. With erase, its text is removed permanently instead.
func (e *Curator) RemoveContext(ctx context.Context, owner memory.Owner, id string, erase bool, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	removed, err := e.Context(ctx, owner, id, memory.At{})
	if erase {
		if err != nil && !errors.Is(err, memory.NotFound) { // a retired context is not found, but its text can be erased
			return memory.Receipt{}, err
		}
		receipt, eraseErr := e.Store.Erase(ctx, owner, memory.Run{ID: core.NewID(), Kind: "erase", Author: author}, id)
		if eraseErr == nil && receipt.Changes == 0 {
			eraseErr = memory.Errorf(memory.NotFound, "there is no context %q", core.Clip(id, 60))
		}
		return receipt, eraseErr
	}
	if err != nil {
		return memory.Receipt{}, err
	}
	base := removed.Version
	removed.Status, removed.UpdatedAt = memory.Retired, e.Time()
	return e.Store.Apply(ctx, owner, memory.Run{ID: core.NewID(), Kind: "forget", Author: author}, memory.Change{
		Action: memory.ActionRetire, After: memory.State{Context: &removed}, Base: base, Reason: "taken away by hand",
	})
}
