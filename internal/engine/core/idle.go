package core

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// lullTime is how long nobody has waited for memory before what can wait goes on:
	// longer than a client needs from one answer to its next question, far
	// shorter than a person does.
	LullTime = 5 * time.Millisecond

	// lullPatience is how long it waits at most. Under questions without a pause ten
	// jobs a second and worker still go on; most of the others then find their turns
	// learned from already.
	LullPatience = 100 * time.Millisecond
)

// Lull knows whether questions wait for memory, so that learning takes the
// processors between them rather than from them.
type Lull struct {
	mu    sync.Mutex // guards what follows
	asked int        // how many questions wait
	last  time.Time  // when one last did
	woken bool       // somebody waits to wake the runner
}

// Begin says that a question waits until end is called.
func (l *Lull) Begin() (end func()) {
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
func (l *Lull) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked > 0
}

// Left is how long the lull has to go on before it is one.
func (l *Lull) Left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked > 0 {
		return LullTime
	}
	return LullTime - time.Since(l.last)
}

// Wait returns when there is a lull, ctx ends, or patience does.
func (l *Lull) Wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, LullPatience)
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
	if e.Lull.busy() {
		return
	}
	if w, ok := e.Searcher.(warmer); ok {
		w.Warm(owner)
	}
}

// WakeInLull makes the runner look into the queue once nobody waits for memory: to
// claim a job is a commit, and takes the processors from the client's next question.
func (e *Core) WakeInLull() {
	e.Lull.mu.Lock()
	woken := e.Lull.woken
	e.Lull.woken = true
	e.Lull.mu.Unlock()
	if woken {
		return
	}
	e.Background.Go(func() {
		e.Lull.Wait(context.Background())
		e.Lull.mu.Lock()
		e.Lull.woken = false
		e.Lull.mu.Unlock()
		e.Wake()
	})
}
