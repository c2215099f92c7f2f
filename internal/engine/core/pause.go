package core

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// Pause is the part of memory that a user has paused.
type Pause string

// The values of Pause.
const (
	PauseNone     Pause = "none"
	PauseLearning Pause = "learning" // messages are stored, but not learned from
	PauseMemory   Pause = "memory"   // chats neither read nor write memory

	PauseUnknown Pause = "unknown" // the store did not reply; memory is neither read nor written
)

// ReservedPrefix is the prefix of the profile keys that Loci uses for a user's settings. Changes of these
// entries are in the journal, but models do not see the entries.
const ReservedPrefix = "loci."

// PauseKey is the key of the profile entry that stores a [Pause].
const PauseKey = ReservedPrefix + "pause"

// SetPause pauses or resumes an owner's memory. A repeated idempotency key does nothing.
func (e *Core) SetPause(ctx context.Context, owner memory.Owner, pause Pause, key string, author memory.Author) error {
	ctx = memory.ForWrite(ctx)
	switch pause {
	case PauseNone, PauseLearning, PauseMemory:
	default:
		return memory.Errorf(memory.Invalid, "pause: invalid value %q (valid: %s, %s, %s)", pause, PauseNone, PauseLearning, PauseMemory)
	}
	earlier, err := e.ChangesByKey(ctx, owner, key)
	switch {
	case err != nil:
		return err
	case len(earlier) > 0 && (earlier[0].After.Profile == nil || earlier[0].After.Profile.Value != string(pause)):
		return ErrOtherRequest
	case len(earlier) > 0:
		return nil
	}
	err = RetryOnConflict(ctx, func() error {
		_, err := e.trySetProfileEntry(ctx, owner, IDForKey(owner, key), PauseKey, string(pause), author)
		return err
	})
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// CurrentPause returns an owner's pause, or [PauseUnknown] if the store does not reply. The pause is
// not cached, since another process may change it.
func (e *Core) CurrentPause(ctx context.Context, owner memory.Owner) Pause {
	p, err := e.ReadPause(ctx, owner)
	if err != nil {
		return PauseUnknown
	}
	return p
}

// ReadPause returns an owner's pause, or the store's error.
func (e *Core) ReadPause(ctx context.Context, owner memory.Owner) (Pause, error) {
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		return PauseUnknown, fmt.Errorf("read whether memory is paused: %w", err)
	}
	for _, entry := range entries {
		if entry.Key == PauseKey {
			return Pause(entry.Value), nil
		}
	}
	return PauseNone, nil
}

// ErrPauseUnknown is returned for an explicit write while the pause cannot be read.
var ErrPauseUnknown = memory.Errorf(memory.Unavailable, "the store currently does not report whether memory is paused")
