package models

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

const (
	// chatPause is how long after it gave way to a chat a model learns at the earliest.
	chatPause = 5 * time.Second

	// yieldFor is how long a model gives way to one chat after another before it learns beside them.
	yieldFor = 10 * time.Minute
)

// chats are what the upstream answers now. A model that learns on the same machine gives way to them.
type chats struct {
	mu      sync.Mutex // guards what follows
	open    int
	lessons map[context.Context]context.CancelCauseFunc // that end when a chat begins
	since   time.Time                                   // when a lesson first gave way, zero after one that a chat did not meet
}

// ChatBegins says that the upstream answers a chat until end is called.
func (l *Learner) ChatBegins() (end func()) {
	c := &l.chats
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	for _, cancel := range c.lessons {
		cancel(llm.ErrChat)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
	}
}

// between lets a model be asked while no chat is under way. With [llm.ErrChat] comes a [*jobs.PutOff].
func (c *chats) between(ctx context.Context, ask func(context.Context) (memory.Reply, error)) (memory.Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.mu.Lock()
	if c.since.IsZero() || time.Since(c.since) < yieldFor {
		if c.open > 0 {
			cancel(llm.ErrChat)
		}
		if c.lessons == nil {
			c.lessons = map[context.Context]context.CancelCauseFunc{}
		}
		c.lessons[ctx] = cancel
	}
	c.mu.Unlock()
	reply, err := memory.Reply{}, context.Cause(ctx)
	if err == nil {
		reply, err = ask(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lessons, ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), llm.ErrChat):
		if c.since.IsZero() {
			c.since = time.Now()
		}
		return reply, memory.Errorf(memory.Unavailable, "%w: %w", llm.ErrChat, &jobs.PutOff{Until: time.Now().Add(chatPause), Why: llm.ErrChat.Error()})
	case err == nil && c.open == 0:
		c.since = time.Time{}
	}
	return reply, err
}
