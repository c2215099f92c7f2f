package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Pause is what of their memory a user has put on hold.
type Pause string

// The pauses.
const (
	PauseNone     Pause = "none"
	PauseLearning Pause = "learning" // what is said is kept and never learned from
	PauseMemory   Pause = "memory"   // chats neither read memory nor leave anything in it
)

// ownKeys begin the keys of profile entries that are Loci's own: they are settings
// of a user, journalled as all else is, and not told to models.
const ownKeys = "loci."

// pauseKey is the profile entry that holds a [Pause].
const pauseKey = ownKeys + "pause"

// Pause puts an owner's memory on hold, or takes it off. The same key again does
// nothing.
func (e *Engine) Pause(ctx context.Context, owner memory.Owner, p Pause, key string, author memory.Author) error {
	switch p {
	case PauseNone, PauseLearning, PauseMemory:
	default:
		return memory.Errorf(memory.Invalid, "pause: %q is none of %s, %s and %s", p, PauseNone, PauseLearning, PauseMemory)
	}
	entry := memory.ProfileEntry{Owner: owner, Key: pauseKey, Value: string(p), Status: memory.Active, UpdatedAt: e.now()}
	done, err := e.done(ctx, owner, key)
	switch {
	case err != nil:
		return err
	case len(done) > 0 && (done[0].After.Profile == nil || done[0].After.Profile.Value != entry.Value):
		return errOtherRequest
	case len(done) > 0:
		return nil
	}
	run := memory.Run{ID: idFor(owner, key), Kind: "manual", Author: author}
	for _, action := range []memory.Action{memory.ActionUpdate, memory.ActionAdd} {
		_, err = e.Store.Apply(ctx, owner, run, memory.Change{Action: action, After: memory.Image{Profile: &entry}, Reason: "pause: " + string(p), Author: author})
		if !errors.Is(err, memory.Conflict) { // there is an entry, or none yet
			break
		}
	}
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	e.pauses.set(owner, p, e.Now())
	return nil
}

// Paused returns what an owner has put on hold. A store that cannot say leaves it
// as it was last known.
func (e *Engine) Paused(ctx context.Context, owner memory.Owner) Pause {
	p, fresh := e.pauses.get(owner, e.Now())
	if fresh {
		return p
	}
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		return p
	}
	p = PauseNone
	for _, entry := range entries {
		if entry.Key == pauseKey {
			p = Pause(entry.Value)
		}
	}
	e.pauses.set(owner, p, e.Now())
	return p
}

// told returns the profile entries that models are told.
func told(entries []memory.ProfileEntry) []memory.ProfileEntry {
	var out []memory.ProfileEntry
	for _, p := range entries {
		if !strings.HasPrefix(p.Key, ownKeys) {
			out = append(out, p)
		}
	}
	return out
}

const (
	// pauseKnown is how long it takes at most until other processes on the same
	// store know of a pause.
	pauseKnown = time.Second

	// maxPauses bounds the owners that are kept, at some 100 bytes each.
	maxPauses = 1 << 16
)

// pauses are what is known of pauses, so that a chat need not ask the store.
type pauses struct {
	mu sync.Mutex // guards of
	of map[memory.Owner]paused
}

type paused struct {
	pause Pause
	at    time.Time
}

// get returns what is known, and whether it is fresh.
func (s *pauses) get(owner memory.Owner, now time.Time) (Pause, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.of[owner]
	if !ok {
		return PauseNone, false
	}
	return known.pause, now.Sub(known.at).Abs() < pauseKnown
}

func (s *pauses) set(owner memory.Owner, p Pause, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= maxPauses {
		s.of = map[memory.Owner]paused{}
	}
	s.of[owner] = paused{p, now}
}
