package core

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// ReadBack has what a run taught, and the turns that it was learned from, read by a store
// that remembers them then: what was said and learned last is soon asked for.
func (e *Core) ReadBack(ctx context.Context, owner memory.Owner, turns []string, changes []memory.Change) {
	if !e.Opts.AtHand {
		return
	}
	ids := slices.Clone(turns)
	for _, c := range changes {
		if c.After.Fact != nil {
			ids = append(ids, c.After.Fact.ID)
		}
	}
	if _, err := e.Store.Get(ctx, owner, ids...); err != nil {
		e.Log.Debug("what was learned was not read back", "user", owner.Name(), "err", err)
	}
}

// ReadAtOnce is how many memories are read ahead at a time: about a millisecond.
const ReadAtOnce = 128

// Loaded has memories that a search may find now read before one does, while nobody waits
// for memory: a store that is at hand remembers what it was asked for. It is what an index
// is told by. Of owners who are loaded at once one is enough.
func (e *Core) Loaded(ctx context.Context, owner memory.Owner, ids []string) {
	if !e.Loading.TryLock() {
		return
	}
	defer e.Loading.Unlock()
	for some := range slices.Chunk(ids, ReadAtOnce) {
		e.Lull.Wait(ctx)
		if _, err := e.Store.Get(ctx, owner, some...); err != nil {
			return // who asks reads it, or is told why not
		}
	}
}
