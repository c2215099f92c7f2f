package core

import (
	"context"
	"fmt"

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
	done, err := e.Done(ctx, owner, key)
	switch {
	case err != nil:
		return err
	case len(done) > 0 && (done[0].After.Profile == nil || done[0].After.Profile.Value != string(p)):
		return ErrOtherRequest
	case len(done) > 0:
		return nil
	}
	err = Replan(ctx, func() error {
		_, err := e.trySetProfile(ctx, owner, IDFor(owner, key), PauseKey, string(p), author)
		return err
	})
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
