package core

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// IdleTime is how long no question must have waited before background work goes on: longer
	// than a client needs between an answer and its next question, far shorter than a person.
	IdleTime = 5 * time.Millisecond

	// IdlePatience bounds that wait. Under constant questions a worker still runs ten jobs a
	// second; most of the others then find their turns learned already.
	IdlePatience = 100 * time.Millisecond
)

// IdleGate tracks waiting questions, so that learning uses the processors between them.
type IdleGate struct {
	asked atomic.Int32 // how many questions wait
	last  atomic.Int64 // when the last one waited, in nanoseconds
	woken atomic.Bool  // a goroutine waits to wake the runner
}

// Begin counts a waiting question until end is called.
func (l *IdleGate) Begin() (end func()) {
	l.asked.Add(1)
	return func() {
		l.last.Store(time.Now().UnixNano())
		l.asked.Add(-1)
	}
}

// busy reports whether a question waits.
func (l *IdleGate) busy() bool { return l.asked.Load() > 0 }

// Quiet reports whether no question has waited for [IdleTime].
func (l *IdleGate) Quiet() bool {
	return !l.busy() && time.Since(time.Unix(0, l.last.Load())) >= IdleTime
}

// Wait returns at an idle moment, at the end of ctx, or after [IdlePatience].
func (l *IdleGate) Wait(ctx context.Context) {
	for range IdlePatience / IdleTime {
		if l.Quiet() {
			return
		}
		select {
		case <-time.After(IdleTime):
		case <-ctx.Done():
			return
		}
	}
}

// warmer is a searcher that can load recent writes ahead of a search. Warm does not block.
type warmer interface{ Warm(memory.Owner) }

// Warm loads an owner's recent writes into the index, unless questions are in progress, which load
// them themselves.
func (e *Core) Warm(owner memory.Owner) {
	if e.Idle.busy() {
		return
	}
	if w, ok := e.Searcher.(warmer); ok {
		w.Warm(owner)
	}
}

// WakeWhenIdle wakes the job runner once no question waits: claiming a job is a commit, which would
// compete with the client's next question.
func (e *Core) WakeWhenIdle() {
	if e.Idle.woken.Swap(true) {
		return
	}
	e.Background.Go(func() {
		e.Idle.Wait(context.Background())
		e.Idle.woken.Store(false)
		e.Wake()
	})
}
