package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Pause is what of their memory a user has put on hold.
type Pause string

// The pauses.
const (
	PauseNone     Pause = "none"
	PauseLearning Pause = "learning" // what is said is kept and never learned from
	PauseMemory   Pause = "memory"   // chats neither read memory nor leave anything in it

	PauseUnknown Pause = "unknown" // the store cannot say: until it can, nothing is read or written
)

// OwnKeys begin the keys of profile entries that are Loci's own: they are settings
// of a user, journalled as all else is, and not told to models.
const OwnKeys = "loci."

// PauseKey is the profile entry that holds a [Pause].
const PauseKey = OwnKeys + "pause"

// Pause puts an owner's memory on hold, or takes it off. The same key again does
// nothing.
func (e *Core) Pause(ctx context.Context, owner memory.Owner, p Pause, key string, author memory.Author) error {
	ctx = memory.ForWrite(ctx)
	switch p {
	case PauseNone, PauseLearning, PauseMemory:
	default:
		return memory.Errorf(memory.Invalid, "pause: %q is none of %s, %s and %s", p, PauseNone, PauseLearning, PauseMemory)
	}
	entry := memory.ProfileEntry{Owner: owner, Key: PauseKey, Value: string(p), Status: memory.Active, UpdatedAt: e.Time()}
	done, err := e.Done(ctx, owner, key)
	switch {
	case err != nil:
		return err
	case len(done) > 0 && (done[0].After.Profile == nil || done[0].After.Profile.Value != entry.Value):
		return ErrOtherRequest
	case len(done) > 0:
		return nil
	}
	run := memory.Run{ID: IDFor(owner, key), Kind: "manual", Author: author}
	for _, action := range []memory.Action{memory.ActionUpdate, memory.ActionAdd} {
		_, err = e.Store.Apply(ctx, owner, run, memory.Change{Action: action, After: memory.Image{Profile: &entry}, Reason: "pause: " + string(p), Author: author})
		if !errors.Is(err, memory.Conflict) { // there is an entry, or none yet
			break
		}
	}
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// Paused returns what an owner has put on hold, [PauseUnknown] if the store cannot say.
// Nothing of it is kept here: another process on the same store may have changed it.
func (e *Core) Paused(ctx context.Context, owner memory.Owner) Pause {
	p, err := e.AskPaused(ctx, owner)
	if err != nil {
		return PauseUnknown
	}
	return p
}

// AskPaused returns what the owner has put on hold, or an error where the store does not say.
func (e *Core) AskPaused(ctx context.Context, owner memory.Owner) (Pause, error) {
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		return PauseUnknown, fmt.Errorf("ask whether memory is paused: %w", err)
	}
	for _, entry := range entries {
		if entry.Key == PauseKey {
			return Pause(entry.Value), nil
		}
	}
	return PauseNone, nil
}

// ErrPauseUnknown answers those who want something kept that may be on hold.
var ErrPauseUnknown = memory.Errorf(memory.Unavailable, "the store cannot say now whether memory is paused")

// Told returns the profile entries that models are told.
func Told(entries []memory.ProfileEntry) []memory.ProfileEntry {
	var out []memory.ProfileEntry
	for _, p := range entries {
		if !strings.HasPrefix(p.Key, OwnKeys) {
			out = append(out, p)
		}
	}
	return out
}
