package lessons

import (
	"context"
	"fmt"
	"math"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// A message stands where it stands on its path: if one before it is edited, and all
// after that is kept, the rest of the path is stored anew. Its facts then rest on turns
// that are off the path, but what they say is still said.

// sayings is what a conversation's turns say, on its path and off it.
type sayings struct {
	on  map[string]bool          // by role and words
	off map[string][]memory.Turn // replaced turns, likewise

	instead map[string]int64 // by role and parent, the version of the turn that was on the path last
}

// sayings reads a conversation.
func (e *Learner) sayings(ctx context.Context, owner memory.Owner, conversation string) (sayings, error) {
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		Conversation: conversation, Statuses: []memory.Status{memory.Active, memory.Replaced},
	})
	if err != nil {
		return sayings{}, fmt.Errorf("read what is said on the path: %w", err)
	}
	s := sayings{on: map[string]bool{}, off: map[string][]memory.Turn{}, instead: map[string]int64{}}
	for _, t := range turns {
		place, version := string(t.Role)+"\n"+t.Parent, t.Version
		if t.Status == memory.Active {
			version = math.MaxInt64
		}
		s.instead[place] = max(s.instead[place], version)
		switch key := Spoken(t); {
		case key == "":
		case t.Status == memory.Active:
			s.on[key] = true
		default:
			s.off[key] = append(s.off[key], t)
		}
	}
	return s, nil
}

// Spoken is what a turn is compared by with others: who speaks, and what; "" if
// nothing is said.
func Spoken(t memory.Turn) string {
	words := text.Normalize(t.Content)
	if words == "" {
		return ""
	}
	return string(t.Role) + "\n" + words
}

// takenBack reports whether another message stands in a turn's place, and nothing on the path
// says what it said. A turn that is off the path only since an earlier one was replaced is
// not taken back.
func (s sayings) takenBack(t memory.Turn) bool {
	return t.Status == memory.Replaced && s.instead[string(t.Role)+"\n"+t.Parent] > t.Version && !s.on[Spoken(t)]
}

// copies returns the turn and the replaced ones that say the same, with its status:
// what the words taught when they stood elsewhere goes with them, and comes back.
func (s sayings) copies(t memory.Turn) []memory.Turn {
	all := []memory.Turn{t}
	for _, other := range s.off[Spoken(t)] {
		if other.ID != t.ID {
			other.Status = t.Status
			all = append(all, other)
		}
	}
	return all
}
