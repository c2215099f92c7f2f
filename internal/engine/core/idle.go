package core

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// IdleTime is how long nobody has waited for memory before what can wait goes on:
	// longer than a client needs from one answer to its next question, far
	// shorter than a person does.
	IdleTime = 5 * time.Millisecond

	// IdlePatience is how long it waits at most. Under questions without a pause ten
	// jobs a second and worker still go on; most of the others then find their turns
	// learned from already.
	IdlePatience = 100 * time.Millisecond
)

// IdleGate knows whether questions wait for memory, so that learning takes the
// processors between them rather than from them.
type IdleGate struct {
	asked atomic.Int32 // how many questions wait
	last  atomic.Int64 // when one last did, in nanoseconds
	woken atomic.Bool  // somebody waits to wake the runner
}

// Begin says that a question waits until end is called.
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

// Wait returns when there is an idle moment, ctx ends, or patience does.
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

// warmer is a searcher that can read what was written before it is asked. Warm
// does not wait for that.
type warmer interface{ Warm(memory.Owner) }

// Warm has what was just written for an owner read before it is asked for, unless
// questions are under way: they read it themselves.
func (e *Core) Warm(owner memory.Owner) {
	if e.Idle.busy() {
		return
	}
	if w, ok := e.Searcher.(warmer); ok {
		w.Warm(owner)
	}
}

// WakeWhenIdle makes the runner look into the queue once nobody waits for memory: to
// claim a job is a commit, and takes the processors from the client's next question.
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
