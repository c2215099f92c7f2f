package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// The profile entries by which a user sets how is learned from what they say. With
// "@" and a project's name behind it, one is of that project alone, and goes before.
const (
	entryTimezone     = "timezone"           // "Europe/Lisbon"
	entryInstructions = "learn.instructions" // what to remember, and what not, in plain words
	entryCategories   = "learn.categories"   // the only kinds of facts that are wanted, with commas
)

// ownLearning is what a user set about learning.
type ownLearning struct {
	wishes string
	zone   *time.Location
}

// learningOf returns what a user set about learning, for a project.
func (e *Engine) learningOf(ctx context.Context, scope memory.Scope) (ownLearning, error) {
	own := ownLearning{zone: e.clients.zone(scope.Owner)}
	entries, err := e.Store.Profile(ctx, scope.Owner, memory.At{})
	if err != nil {
		return own, fmt.Errorf("read the profile: %w", err)
	}
	values := map[string]string{}
	for _, p := range entries {
		values[p.Key] = strings.TrimSpace(p.Value)
	}
	of := func(key string) string {
		if v, ok := values[key+"@"+scope.Project]; ok && scope.Project != "" {
			return v
		}
		return values[key]
	}
	if own.zone == nil {
		own.zone, _ = time.LoadLocation(values[entryTimezone]) // what is no zone is the server's
	}
	if own.zone == nil || values[entryTimezone] == "" && own.zone == time.UTC {
		own.zone = time.Local
	}
	own.wishes = of(entryInstructions)
	if only := of(entryCategories); only != "" {
		own.wishes = strings.TrimSpace(own.wishes + "\nOnly facts of these kinds: " + only)
	}
	return own, nil
}

// maxClients is of how many users the last chat's client is known.
const maxClients = 10_000

// clientsSeen is what the last chat of each user says of the client. It is never written
// down.
type clientsSeen struct {
	mu sync.Mutex // guards of
	of map[memory.Owner]clientSeen
}

type clientSeen struct {
	zone  *time.Location // nil: it does not say
	model string         // that it asked
	key   string         // of its own, for the upstream
}

// see notes what a request says; what it does not say stays.
func (c *clientsSeen) see(owner memory.Owner, is clientSeen) {
	if owner == "" || is == (clientSeen{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.of[owner]
	is = clientSeen{zone: cmp.Or(is.zone, was.zone), model: cmp.Or(is.model, was.model), key: cmp.Or(is.key, was.key)}
	if c.of == nil || len(c.of) >= maxClients {
		c.of = map[memory.Owner]clientSeen{}
	}
	c.of[owner] = is
}

func (c *clientsSeen) get(owner memory.Owner) clientSeen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[owner]
}

func (c *clientsSeen) zone(owner memory.Owner) *time.Location { return c.get(owner).zone }
