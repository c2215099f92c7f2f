package engine

import (
	"context"
	"hash/maphash"

	"golang.org/x/sync/semaphore"

	"github.com/loci-memory/loci/memory"
)

// besides is how many writes that are compared with nothing may be under way for an owner
// at once; more wait.
const besides = 64

// deciders keeps apart what people decide about an owner's facts. Each decision that is
// compared with what is known is alone, so that the next one is compared with it. What is
// compared with nothing goes side by side: the store puts such writes into one commit. The
// two do not mix, for every write raises the version that a decision was planned on. A
// learner, or another process, may still come in between: see [Engine.plannedOn].
type deciders struct {
	seed maphash.Seed
	of   [stripes]*semaphore.Weighted
}

func newDeciders() *deciders {
	d := &deciders{seed: maphash.MakeSeed()}
	for i := range d.of {
		d.of[i] = semaphore.NewWeighted(besides)
	}
	return d
}

// decision is somebody's place among them.
type decision struct {
	among *semaphore.Weighted
	held  int64
}

// enter waits for a place, alone or beside others; whoever came first goes first. leave
// must be called.
func (d *deciders) enter(ctx context.Context, owner memory.Owner, alone bool) (*decision, error) {
	place := &decision{among: d.of[maphash.String(d.seed, string(owner))%stripes], held: 1}
	if alone {
		place.held = besides
	}
	if err := place.among.Acquire(ctx, place.held); err != nil {
		return nil, err
	}
	return place, nil
}

// share lets others in that are compared with nothing, as this one turned out to be.
func (d *decision) share() {
	d.among.Release(d.held - 1)
	d.held = 1
}

func (d *decision) leave() {
	d.among.Release(d.held)
	d.held = 0
}

// deciding is a decision that is compared with what is known; leave must be called.
func (e *Engine) deciding(ctx context.Context, owner memory.Owner) (leave func(), err error) {
	place, err := e.deciders.enter(ctx, owner, true)
	if err != nil {
		return nil, err
	}
	return place.leave, nil
}
