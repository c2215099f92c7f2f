package models

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// maxYieldTime is the maximum time for which learning waits for chats before it runs at the same time.
const maxYieldTime = 10 * time.Minute

var errChatActive = errors.New("a chat is running")

// chatTracker counts the chats that the learning model's machine is answering. Learning jobs wait for them.
type chatTracker struct {
	activeChats   int                                         // number of active chats
	cancelJobs    map[context.Context]context.CancelCauseFunc // functions that cancel the learning jobs, by context of the job; called when a chat begins
	yieldingSince time.Time                                   // time when a chat first canceled a job; reset to zero when a job succeeds while no chat is active
}

// ChatBegins counts a chat as active until end is called, and cancels the learning jobs. It does nothing
// unless the learning model and the chat model run on the same nearby machine, whose speed both share.
func (l *Learner) ChatBegins() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	learnURL, err := url.Parse(LearnerOptions(l.provider.ApplyTo(l.settings)).BaseURL)
	chatURL, chatErr := url.Parse(l.settings.Upstream.URL)
	if err != nil || chatErr != nil || learnURL.Hostname() != chatURL.Hostname() || !isNearby(learnURL.String()) {
		return func() {}
	}
	l.activeChats++
	for _, cancel := range l.cancelJobs {
		cancel(errChatActive)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.activeChats--
	}
}

// startJob stores cancel for the next chat or, if a chat is active, cancels the job now. If learning has waited
// for maxYieldTime, startJob does neither, so that the job runs during chats. It returns the current time.
func (l *Learner) startJob(ctx context.Context, cancelJob context.CancelCauseFunc) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.yieldingSince.IsZero() && time.Since(l.yieldingSince) > maxYieldTime:
	case l.activeChats > 0:
		cancelJob(errChatActive)
	default:
		l.cancelJobs[ctx] = cancelJob
	}
	return time.Now()
}

// endJob returns a learning job's error: a [*jobs.PutOff] if a chat canceled the job. The caller holds l.mu.
func (l *Learner) endJob(ctx context.Context, err error) error {
	delete(l.cancelJobs, ctx)
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
