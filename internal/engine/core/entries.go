package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxKey is how many bytes the key of a profile entry has at most.
const maxKey = 128

// Profile returns the entries of an owner's profile, in order of key.
func (e *Core) Profile(ctx context.Context, owner memory.Owner) ([]memory.ProfileEntry, error) {
	return e.Store.Profile(ctx, owner, memory.At{})
}

// SetProfile writes an entry of the profile, in a run that can be undone. What is
// there with that value stays as it is, and the receipt is then the zero Receipt.
func (e *Core) SetProfile(ctx context.Context, owner memory.Owner, key, value string, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	key, err := e.CheckText("key", key)
	if err != nil {
		return memory.Receipt{}, err
	}
	if len(key) > maxKey || strings.ContainsFunc(key, unicode.IsControl) {
		return memory.Receipt{}, memory.Errorf(memory.Invalid, "key: is one line of at most %d bytes", maxKey)
	}
	if value, err = e.CheckText("value", value); err != nil {
		return memory.Receipt{}, err
	}
	var receipt memory.Receipt
	err = Replan(ctx, func() error {
		receipt, err = e.trySetProfile(ctx, owner, key, value, author)
		return err
	})
	return receipt, err
}

// trySetProfile writes an entry that was checked, or returns a Conflict.
func (e *Core) trySetProfile(ctx context.Context, owner memory.Owner, key, value string, author memory.Author) (memory.Receipt, error) {
	was, err := e.ReadEntry(ctx, owner, key)
	next := was
	change := memory.Change{Action: memory.ActionUpdate, After: memory.Image{Profile: &next}, Base: was.Version, Reason: "edited by hand"}
	switch {
	case errors.Is(err, memory.NotFound):
		next = memory.ProfileEntry{Owner: owner, Key: key}
		change.Action, change.Reason = memory.ActionAdd, "written by hand"
	case err != nil:
		return memory.Receipt{}, err
	case was.Value == value:
		return memory.Receipt{}, nil
	}
	next.Value, next.Tokens, next.Status, next.UpdatedAt = value, text.Tokens(value), memory.Active, e.Time()
	run := memory.Run{ID: NewID(), Kind: "manual", Author: author}
	receipt, err := e.Store.Apply(ctx, owner, run, change)
	if change.Action == memory.ActionAdd && errors.Is(err, memory.Conflict) { // it was there before, and ended
		change.Action = memory.ActionRestore
		receipt, err = e.Store.Apply(ctx, owner, run, change)
	}
	return receipt, err
}

// DropProfile takes an entry out of the profile, in a run that can be undone;
// [memory.NotFound] where there is none.
func (e *Core) DropProfile(ctx context.Context, owner memory.Owner, key string, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	gone, err := e.ReadEntry(ctx, owner, key)
	if err != nil {
		return memory.Receipt{}, err
	}
	base := gone.Version
	gone.Status, gone.UpdatedAt = memory.Retired, e.Time()
	run := memory.Run{ID: NewID(), Kind: "forget", Author: author}
	return e.Store.Apply(ctx, owner, run, memory.Change{
		Action: memory.ActionRetire, After: memory.Image{Profile: &gone}, Base: base, Reason: "forgotten by hand",
	})
}

// entry returns an active entry of the profile, or [memory.NotFound].
func (e *Core) ReadEntry(ctx context.Context, owner memory.Owner, key string) (memory.ProfileEntry, error) {
	all, err := e.Profile(ctx, owner)
	if err != nil {
		return memory.ProfileEntry{}, fmt.Errorf("read the profile: %w", err)
	}
	for _, p := range all {
		if p.Key == key {
			return p, nil
		}
	}
	return memory.ProfileEntry{}, memory.Errorf(memory.NotFound, "the profile has no %q", Clip(key, 60))
}
