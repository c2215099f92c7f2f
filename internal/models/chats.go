package models

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// yieldTime is the maximum time for which learning yields to consecutive chats. Afterwards both run at once.
const yieldFor = 10 * time.Minute

var errChat = errors.New("a chat is running")

// chats counts the chats that the machine of the learning model is answering. Learning yields to them.
type chats struct {
	talks int                                         // number of active chats
	yield map[context.Context]context.CancelCauseFunc // functions that cancel learning jobs, called when a chat begins
	since time.Time                                   // time of the first canceled job; zero after a job ended without an active chat
}

// ChatBegins counts a chat as active until end is called. It cancels the learning jobs if the learning model
// runs on the chat model's machine and that machine is local.
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

// startJob lets chats cancel a learning job, or cancels the job if a chat is active. It returns the time.
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

// endJob returns a learning job's error: a [*jobs.PutOff] if a chat canceled the job. The caller holds l.mu.
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
