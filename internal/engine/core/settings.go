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

// Keys of profile entries by which a user configures learning. An entry for a project, with the suffix
// "@" and the project's name, takes precedence. An entry of the global pool is used last.
const (
	entryTimezone     = "timezone"           // "Europe/Lisbon"
	EntryInstructions = "learn.instructions" // facts to remember and to ignore, in plain language
	entryCategories   = "learn.categories"   // allowed categories of learned facts, separated by commas
)

// InstructionsKey returns the profile key of the instructions for learning from one conversation.
func InstructionsKey(owner memory.Owner, conversation string) string {
	return OwnKeys + EntryInstructions + "@" + DerivedID(owner, conversation)
}

// LearningSettings are a user's settings for learning.
type LearningSettings struct {
	Instructions string
	Zone         *time.Location
}

// LearningSettingsFor returns a user's settings for learning in a project and a conversation.
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
		own.Zone, _ = time.LoadLocation(values[entryTimezone]) // for an invalid zone, the server's zone
	}
	if own.Zone == nil || values[entryTimezone] == "" && own.Zone == time.UTC {
		own.Zone = time.Local
	}
	own.Instructions = strings.TrimSpace(of(EntryInstructions) + "\n" + values[InstructionsKey(scope.Owner, conversation)])
	if only := of(entryCategories); only != "" {
		own.Instructions = strings.TrimSpace(own.Instructions + "\nOnly facts of these kinds: " + only)
	}
	return own, nil
}

// lastClients caches the client data of each user's last chat. It is never written to disk.
type clientsSeen struct {
	recent.Map[memory.Owner, ClientSeen]
}

// ClientInfo describes the client of a request.
type ClientSeen struct {
	Zone  *time.Location // nil: unknown
	Model string         // requested model
	Key   string         // API key for the upstream
}

// Record updates an owner's data with the fields that a request sets.
func (c *clientsSeen) See(owner memory.Owner, is ClientSeen) {
	if owner == "" || is == (ClientSeen{}) {
		return
	}
	c.Update(owner, func(was ClientSeen, _ bool) (ClientSeen, bool) {
		return ClientSeen{Zone: cmp.Or(is.Zone, was.Zone), Model: cmp.Or(is.Model, was.Model), Key: cmp.Or(is.Key, was.Key)}, true
	})
}

// Last returns the data of an owner's last chat.
func (c *clientsSeen) Of(owner memory.Owner) ClientSeen {
	is, _ := c.Get(owner)
	return is
}

func (c *clientsSeen) zone(owner memory.Owner) *time.Location { return c.Of(owner).Zone }
