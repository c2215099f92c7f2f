package core

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// The profile entries by which a user sets how Loci learns from what they say. An entry with
// "@" and a project's name behind it goes before, an entry of the global pool behind.
const (
	entryTimezone     = "timezone"           // "Europe/Lisbon"
	EntryInstructions = "learn.instructions" // what to remember, and what not, in plain words
	entryCategories   = "learn.categories"   // the only kinds of facts that are wanted, with commas
)

// WishesKey is the profile entry that says what to learn from one conversation.
func WishesKey(owner memory.Owner, conversation string) string {
	return OwnKeys + EntryInstructions + "@" + DerivedID(owner, conversation)
}

// LearningSettings is what a user set about learning.
type LearningSettings struct {
	Wishes string
	Zone   *time.Location
}

// LearningOf returns what a user set about learning, for a project and a conversation.
func (e *Core) LearningOf(ctx context.Context, scope memory.Scope, conversation string) (LearningSettings, error) {
	own := LearningSettings{Zone: e.Clients.zone(scope.Owner)}
	values := map[string]string{}
	for _, owner := range []memory.Owner{memory.Global(scope.Owner.Namespace()), scope.Owner} {
		entries, err := e.Store.Profile(ctx, owner, memory.At{})
		if err != nil {
			return own, fmt.Errorf("read the profile: %w", err)
		}
		for _, p := range entries {
			values[p.Key] = strings.TrimSpace(p.Value)
		}
	}
	of := func(key string) string {
		if v, ok := values[key+"@"+scope.Project]; ok && scope.Project != "" {
			return v
		}
		return values[key]
	}
	if own.Zone == nil {
		own.Zone, _ = time.LoadLocation(values[entryTimezone]) // what is not a zone is the server's
	}
	if own.Zone == nil || values[entryTimezone] == "" && own.Zone == time.UTC {
		own.Zone = time.Local
	}
	own.Wishes = strings.TrimSpace(of(EntryInstructions) + "\n" + values[WishesKey(scope.Owner, conversation)])
	if only := of(entryCategories); only != "" {
		own.Wishes = strings.TrimSpace(own.Wishes + "\nOnly facts of these kinds: " + only)
	}
	return own, nil
}

// clientsSeen is what the last chat of each user says of the client. It is never written
// down.
type clientsSeen struct {
	recent.Map[memory.Owner, ClientSeen]
}

// ClientSeen is what a request says of its client.
type ClientSeen struct {
	Zone  *time.Location // nil: it does not say
	Model string         // that it asked
	Key   string         // of its own, for the upstream
}

// See notes what a request says; what it does not say stays.
func (c *clientsSeen) See(owner memory.Owner, is ClientSeen) {
	if owner == "" || is == (ClientSeen{}) {
		return
	}
	c.Update(owner, func(was ClientSeen, _ bool) (ClientSeen, bool) {
		return ClientSeen{Zone: cmp.Or(is.Zone, was.Zone), Model: cmp.Or(is.Model, was.Model), Key: cmp.Or(is.Key, was.Key)}, true
	})
}

// Of returns what the last chat of a user said.
func (c *clientsSeen) Of(owner memory.Owner) ClientSeen {
	is, _ := c.Get(owner)
	return is
}

func (c *clientsSeen) zone(owner memory.Owner) *time.Location { return c.Of(owner).Zone }
