package models

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// yieldFor is how long a model gives way to one chat after another before it learns beside them.
const yieldFor = 10 * time.Minute

var errChat = errors.New("a chat is under way")

// chats are what a model that learns on the machine which answers them gives way to.
type chats struct {
	talks int
	yield map[context.Context]context.CancelCauseFunc // to a chat that begins
	since time.Time                                   // when one first did, zero after a reply that no chat met
}

// ChatBegins says that the upstream answers a chat until end is called. It ends the lessons of a model
// on the same machine, if that is this one or nearby.
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

// enter lets a chat cancel what a model is asked, or cancels it where one is under way.
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

// leave returns the error of a model that was asked: a [*jobs.PutOff] if it gave way. l.mu is held.
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
