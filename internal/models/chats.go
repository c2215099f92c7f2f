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
const yieldTime = 10 * time.Minute

var errChatActive = errors.New("a chat is running")

// chats counts the chats that the machine of the learning model is answering. Learning yields to them.
type chats struct {
	activeChats   int                                         // number of active chats
	cancels       map[context.Context]context.CancelCauseFunc // functions that cancel learning jobs, called when a chat begins
	yieldingSince time.Time                                   // time of the first canceled job; zero after a job ended without an active chat
}

// ChatBegins counts a chat as active until end is called. It cancels the learning jobs if the learning model
// runs on the chat model's machine and that machine is local.
func (l *Learner) ChatBegins() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	learnURL, err := url.Parse(LearnerOptions(l.provider.ApplyTo(l.settings)).BaseURL)
	chatURL, chatErr := url.Parse(l.settings.Upstream.URL)
	if err != nil || chatErr != nil || learnURL.Hostname() != chatURL.Hostname() || !isNearby(learnURL.String()) {
		return func() {}
	}
	l.activeChats++
	for _, cancel := range l.cancels {
		cancel(errChatActive)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.activeChats--
	}
}

// startJob lets chats cancel a learning job, or cancels the job if a chat is active. It returns the time.
func (l *Learner) startJob(ctx context.Context, cancel context.CancelCauseFunc) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.yieldingSince.IsZero() && time.Since(l.yieldingSince) > yieldTime:
	case l.activeChats > 0:
		cancel(errChatActive)
	default:
		l.cancels[ctx] = cancel
	}
	return time.Now()
}

// endJob returns a learning job's error: a [*jobs.PutOff] if a chat canceled the job. The caller holds l.mu.
func (l *Learner) endJob(ctx context.Context, err error) error {
	delete(l.cancels, ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errChatActive):
		if l.yieldingSince.IsZero() {
			l.yieldingSince = time.Now()
		}
		return memory.Errorf(memory.Unavailable, "%w", &jobs.PutOff{Until: time.Now().Add(5 * time.Second), Reason: errChatActive.Error()})
	case err == nil && l.activeChats == 0:
		l.yieldingSince = time.Time{}
	}
	return err
}
