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

// Keys of profile entries by which a user configures learning. An entry for a project, with the suffix "@"
// and the project's name, takes precedence. Without either entry, the global pool's entry applies.
const (
	entryTimezone     = "timezone"           // "Europe/Lisbon"
	EntryInstructions = "learn.instructions" // facts to remember and to ignore, in plain language
	entryCategories   = "learn.categories"   // allowed categories of learned facts, separated by commas
)

// InstructionsKey returns the profile key of the instructions for learning from one conversation.
func InstructionsKey(owner memory.Owner, conversation string) string {
	return ReservedPrefix + EntryInstructions + "@" + DerivedID(owner, conversation)
}

// LearningSettings are a user's settings for learning.
type LearningSettings struct {
	Instructions string // facts to remember and to ignore; may be empty
	TimeZone     *time.Location
}

// LearningSettingsFor returns a user's settings for learning in a project and a conversation.
func (e *Core) LearningSettingsFor(ctx context.Context, scope memory.Scope, conversation string) (LearningSettings, error) {
	settings := LearningSettings{TimeZone: e.LastClients.timeZone(scope.Owner)}
	values := map[string]string{}
	for _, owner := range []memory.Owner{memory.Global(scope.Owner.Namespace()), scope.Owner} {
		entries, err := e.Store.Profile(ctx, owner, memory.At{})
		if err != nil {
			return settings, fmt.Errorf("read the profile: %w", err)
		}
		for _, p := range entries {
			values[p.Key] = strings.TrimSpace(p.Value)
		}
	}
	valueOf := func(key string) string {
		if v, ok := values[key+"@"+scope.Project]; ok && scope.Project != "" {
			return v
		}
		return values[key]
	}
	if settings.TimeZone == nil {
		settings.TimeZone, _ = time.LoadLocation(values[entryTimezone]) // for an invalid zone, the server's zone
	}
	if settings.TimeZone == nil || values[entryTimezone] == "" && settings.TimeZone == time.UTC {
		settings.TimeZone = time.Local
	}
	settings.Instructions = strings.TrimSpace(valueOf(EntryInstructions) + "\n" + values[InstructionsKey(scope.Owner, conversation)])
	if categories := valueOf(entryCategories); categories != "" {
		settings.Instructions = strings.TrimSpace(settings.Instructions + "\nOnly facts of these kinds: " + categories)
	}
	return settings, nil
}

// lastClients caches the client data of each user's last chat. It is never written to disk.
type lastClients struct {
	recent.Map[memory.Owner, ClientInfo]
}

// ClientInfo describes the client of a request.
type ClientInfo struct {
	TimeZone *time.Location // nil: unknown
	Model    string         // requested model
	APIKey   string         // API key for the upstream
}

// Record updates an owner's data with the fields that a request sets.
func (c *lastClients) Record(owner memory.Owner, info ClientInfo) {
	if owner == "" || info == (ClientInfo{}) {
		return
	}
	c.Update(owner, func(previous ClientInfo, _ bool) (ClientInfo, bool) {
		return ClientInfo{TimeZone: cmp.Or(info.TimeZone, previous.TimeZone), Model: cmp.Or(info.Model, previous.Model), APIKey: cmp.Or(info.APIKey, previous.APIKey)}, true
	})
}

// Last returns the data of an owner's last chat.
func (c *lastClients) Last(owner memory.Owner) ClientInfo {
	info, _ := c.Get(owner)
	return info
}

func (c *lastClients) timeZone(owner memory.Owner) *time.Location { return c.Last(owner).TimeZone }
