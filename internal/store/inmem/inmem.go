// Package inmem is the reference [memory.Store]: plain maps and slices behind one
// mutex, written to be obviously right. Other stores are compared with it. It is
// for tests and for trying things out, not for keeping: what it holds is gone
// with the process, and a write copies the owner's maps.
package inmem

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Options are what can be set about a store.
type Options struct {
	Now func() time.Time // the store's clock; nil: time.Now
}

// Store keeps everything in memory.
type Store struct {
	now func() time.Time

	mu      sync.Mutex // guards everything below
	shelves map[memory.Owner]*shelf
	claims  int

	sessions map[sessionID]memory.Session
}

var _ memory.Store = (*Store)(nil)

// Open returns an empty store.
func Open(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{now: o.Now, shelves: map[memory.Owner]*shelf{}, sessions: map[sessionID]memory.Session{}}
}

// Close does nothing: there is nothing to release.
func (s *Store) Close() error { return nil }

// shelf is all that one owner has. What its maps and slices hold is never
// written to, only exchanged, so that a clone of the maps is a draft.
type shelf struct {
	version       int64
	at            time.Time               // of the last write
	horizon       int64                   // Since from before it is Gone
	erased        time.Time               // traces of before are not kept
	things        map[string]memory.Image // what is, by target; all but turns and conversations
	turns         map[string]memory.Turn
	conversations map[string]memory.Conversation
	journal       []memory.Change // oldest first
	runs          map[string]memory.Receipt
	vectors       map[vectorKey][]float32
	jobs          map[string]memory.Job
	traces        map[string]memory.Trace
	spent         []memory.Usage
	tombs         map[string]string // of turns that are kept without words: a hash of them, by id
}

type vectorKey struct{ memory, model string }

func (s *shelf) clone() *shelf {
	c := *s
	c.things = cloneMap(s.things)
	c.turns = cloneMap(s.turns)
	c.conversations = cloneMap(s.conversations)
	c.runs = cloneMap(s.runs)
	c.vectors = cloneMap(s.vectors)
	c.jobs = cloneMap(s.jobs)
	c.traces = cloneMap(s.traces)
	c.tombs = cloneMap(s.tombs)
	return &c
}

// cloneMap is maps.Clone but for a nil map, which becomes one to write to.
func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// read calls do with the owner's shelf, which it must not change.
func (s *Store) read(ctx context.Context, owner memory.Owner, do func(*shelf) error) error {
	if err := check(ctx, owner); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(s.shelf(owner))
}

// write calls do with a draft of the owner's shelf, which takes the shelf's place
// unless do fails.
func (s *Store) write(ctx context.Context, owner memory.Owner, do func(draft *shelf) error) error {
	if err := check(ctx, owner); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	draft := s.shelf(owner).clone()
	if err := do(draft); err != nil {
		return err
	}
	s.shelves[owner] = draft
	return nil
}

func (s *Store) shelf(owner memory.Owner) *shelf {
	if sh := s.shelves[owner]; sh != nil {
		return sh
	}
	return new(shelf)
}

func check(ctx context.Context, owner memory.Owner) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !owner.Valid() {
		return memory.Errorf(memory.Invalid, "%q is not a valid owner", owner)
	}
	return nil
}

// tick takes the time of a write from the owner's clock.
func (s *shelf) tick(now time.Time) time.Time {
	s.at = later(memory.Time(now), s.at.Add(time.Microsecond))
	return s.at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
