package models

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// yieldFor is how long a model gives way to one chat after another before it learns beside them.
const yieldFor = 10 * time.Minute

var errChat = errors.New("a chat is under way")

// chats are what the upstream answers now. A model that learns on the same machine gives way to them.
type chats struct {
	mu      sync.Mutex // guards what follows
	open    int
	lessons map[context.Context]context.CancelCauseFunc // that end when a chat begins
	since   time.Time                                   // when one first gave way, zero after one that no chat met
}

// ChatBegins says that the upstream answers a chat until end is called. It ends the lessons of a model
// on the same machine, if that is this one or nearby.
func (l *Learner) ChatBegins() (end func()) {
	l.mu.Lock()
	learns, err := url.Parse(LearnerOptions(l.provider.At(l.asked)).BaseURL)
	l.mu.Unlock()
	answers, wrong := url.Parse(l.asked.Upstream.URL)
	if err != nil || wrong != nil || learns.Hostname() != answers.Hostname() || !nearby(learns.String()) {
		return func() {}
	}
	c := &l.chats
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	for _, cancel := range c.lessons {
		cancel(errChat)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
	}
}

// between lets a model be asked while no chat is under way. Else the error is a [*jobs.PutOff].
func (c *chats) between(ctx context.Context, ask func(context.Context) (memory.Reply, error)) (reply memory.Reply, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.mu.Lock()
	switch {
	case !c.since.IsZero() && time.Since(c.since) > yieldFor:
	case c.open > 0:
		cancel(errChat)
	default:
		c.lessons[ctx] = cancel
	}
	c.mu.Unlock()
	if err = context.Cause(ctx); err == nil {
		reply, err = ask(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lessons, ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errChat):
		if c.since.IsZero() {
			c.since = time.Now()
		}
		err = memory.Errorf(memory.Unavailable, "%w", &jobs.PutOff{Until: time.Now().Add(5 * time.Second), Why: errChat.Error()})
	case err == nil && c.open == 0:
		c.since = time.Time{}
	}
	return reply, err
}
