package core

import (
	"context"
	"sync"
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
	mu    sync.Mutex // guards what follows
	asked int        // how many questions wait
	last  time.Time  // when one last did
	woken bool       // somebody waits to wake the runner
}

// Begin says that a question waits until end is called.
func (l *IdleGate) Begin() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked--
		l.last = time.Now()
	}
}

// busy reports whether a question waits.
func (l *IdleGate) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked > 0
}

// Left is how long the idle moment has to go on before it is one.
func (l *IdleGate) Left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked > 0 {
		return IdleTime
	}
	return IdleTime - time.Since(l.last)
}

// Wait returns when there is an idle moment, ctx ends, or patience does.
func (l *IdleGate) Wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, IdlePatience)
	defer cancel()
	for left := l.Left(); left > 0; left = l.Left() {
		select {
		case <-time.After(left):
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
	e.Idle.mu.Lock()
	woken := e.Idle.woken
	e.Idle.woken = true
	e.Idle.mu.Unlock()
	if woken {
		return
	}
	e.Background.Go(func() {
		e.Idle.Wait(context.Background())
		e.Idle.mu.Lock()
		e.Idle.woken = false
		e.Idle.mu.Unlock()
		e.Wake()
	})
}
