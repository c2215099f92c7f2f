package core

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// IdleTime is the time without a waiting question after which background work continues. It is
	// longer than a client program needs between an answer and its next question, and far shorter
	// than a person needs.
	IdleTime = 5 * time.Millisecond

	// IdleMaxWait bounds the wait for an idle moment. Under constant load, a worker still runs ten
	// jobs a second.
	IdleMaxWait = 100 * time.Millisecond
)

// IdleGate counts waiting questions, so that learning uses the processors only between questions.
type IdleGate struct {
	waiting     atomic.Int32 // number of waiting questions
	lastWaiting atomic.Int64 // when a question last stopped waiting, in Unix nanoseconds
	waking      atomic.Bool  // true while a goroutine waits to wake the job runner
}

// BeginQuestion counts a waiting question until end is called.
func (l *IdleGate) BeginQuestion() (end func()) {
	l.waiting.Add(1)
	return func() {
		l.lastWaiting.Store(time.Now().UnixNano())
		l.waiting.Add(-1)
	}
}

// isBusy reports whether a question is waiting.
func (l *IdleGate) isBusy() bool { return l.waiting.Load() > 0 }

// IsIdle reports whether no question has waited for [IdleTime].
func (l *IdleGate) IsIdle() bool {
	return !l.isBusy() && time.Since(time.Unix(0, l.lastWaiting.Load())) >= IdleTime
}

// Wait returns once no question has waited for [IdleTime], when ctx ends, or after [IdleMaxWait].
func (l *IdleGate) Wait(ctx context.Context) {
	for range IdleMaxWait / IdleTime {
		if l.IsIdle() {
			return
		}
		select {
		case <-time.After(IdleTime):
		case <-ctx.Done():
			return
		}
	}
}

// warmer is a searcher that can load recent writes before a search. Warm does not block.
type warmer interface{ Warm(memory.Owner) }

// Warm loads an owner's recent writes into the index. It does nothing while a question is waiting, because
// each question loads the writes itself.
func (e *Core) Warm(owner memory.Owner) {
	if e.Idle.isBusy() {
		return
	}
	if w, ok := e.Searcher.(warmer); ok {
		w.Warm(owner)
	}
}

// WakeWhenIdle wakes the job runner once no question is waiting: claiming a job needs a commit, which
// would slow down the next question.
func (e *Core) WakeWhenIdle() {
	if e.Idle.waking.Swap(true) {
		return
	}
	e.Background.Go(func() {
		e.Idle.Wait(context.Background())
		e.Idle.waking.Store(false)
		e.WakeJobRunner()
	})
}
