package core

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// Pause is which part of memory a user has paused.
type Pause string

// The pauses.
const (
	PauseNone     Pause = "none"
	PauseLearning Pause = "learning" // messages are stored, but not learned from
	PauseMemory   Pause = "memory"   // chats neither read nor write memory

	PauseUnknown Pause = "unknown" // the store cannot say; nothing is read or written until it can
)

// OwnKeys is the prefix of Loci's own profile keys: a user's settings, journalled like the rest,
// and hidden from models.
const OwnKeys = "loci."

// PauseKey is the profile entry that holds a [Pause].
const PauseKey = OwnKeys + "pause"

// Pause pauses or resumes an owner's memory. Repeating a key does nothing.
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

// Paused returns an owner's pause, or [PauseUnknown] if the store cannot say. It is not cached,
// since another process may change it.
func (e *Core) Paused(ctx context.Context, owner memory.Owner) Pause {
	p, err := e.AskPaused(ctx, owner)
	if err != nil {
		return PauseUnknown
	}
	return p
}

// AskPaused returns an owner's pause, or the store's error.
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

// ErrPauseUnknown refuses an explicit write while the pause is unknown.
var ErrPauseUnknown = memory.Errorf(memory.Unavailable, "the store cannot say now whether memory is paused")
