package models

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// yieldFor is how long learning yields to consecutive chats before it runs at the same time.
const yieldFor = 10 * time.Minute

var errChat = errors.New("a chat is running")

// chats are the running chats on the machine of the learning model, which yields to them.
type chats struct {
	talks int
	yield map[context.Context]context.CancelCauseFunc // learning jobs to cancel when a chat begins
	since time.Time                                   // time of the first cancellation; zero after a reply without a running chat
}

// ChatBegins marks a chat as running until end is called. It cancels learning jobs if their model runs on the
// same machine or nearby.
func (l *Learner) ChatBegins() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	learns, err := url.Parse(LearnerOptions(l.provider.At(l.asked)).BaseURL)
	answers, wrong := url.Parse(l.asked.Upstream.URL)
	if err != nil || wrong != nil || learns.Hostname() != answers.Hostname() || !nearby(learns.String()) {
		return func() {}
	}
	l.talks++
	for _, cancel := range l.yield {
		cancel(errChat)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.talks--
	}
}

// enter makes a learning job cancelable by chats, or cancels it if a chat is running.
func (l *Learner) enter(ctx context.Context, cancel context.CancelCauseFunc) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.since.IsZero() && time.Since(l.since) > yieldFor:
	case l.talks > 0:
		cancel(errChat)
	default:
		l.yield[ctx] = cancel
	}
	return time.Now()
}

// leave returns the error of a learning job: a [*jobs.PutOff] if a chat canceled it. The caller holds l.mu.
func (l *Learner) leave(ctx context.Context, err error) error {
	delete(l.yield, ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errChat):
		if l.since.IsZero() {
			l.since = time.Now()
		}
		return memory.Errorf(memory.Unavailable, "%w", &jobs.PutOff{Until: time.Now().Add(5 * time.Second), Why: errChat.Error()})
	case err == nil && l.talks == 0:
		l.since = time.Time{}
	}
	return err
}
