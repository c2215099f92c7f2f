package core

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Upkeep is what leaves recall by itself. What leaves stays in the history and can
// be taken back; what a person wrote, approved or pinned never leaves.
type Upkeep struct {
	User         int           // most facts and turns of a user; 0: any number
	Conversation int           // most of a conversation: its turns and the facts that belong to it; 0: any number
	HalfLife     time.Duration // in which a fact that is not said again loses half of its confidence; 0: it keeps it
	Floor        float64       // confidence below which a fact leaves
}

// UpkeepAtOnce is how many changes one transaction makes, so that other writes do
// not wait for long.
const UpkeepAtOnce = 200

// UpkeepJobs are the owner's job of a day and, where a number may not be passed, of
// a run that added to a conversation.
func (e *Core) UpkeepJobs(owner memory.Owner, run, conversation string) []memory.Job {
	out := []memory.Job{{ID: "upkeep-" + e.Time().Format(time.DateOnly), Owner: owner, Kind: memory.JobUpkeep}}
	if e.Opts.Learn.Upkeep.User+e.Opts.Learn.Upkeep.Conversation > 0 {
		out = append(out, memory.Job{ID: "upkeep-" + run, Owner: owner, Kind: memory.JobUpkeep, Conversation: conversation})
	}
	return out
}

// Over says why a fact's time is over, "" if it is not.
func (u Upkeep) Over(f *memory.Fact, now time.Time) string {
	switch {
	case f == nil:
		return ""
	case !f.ExpiresAt.IsZero() && !now.Before(f.ExpiresAt):
		return "expired"
	case Kept(f) || u.HalfLife <= 0:
		return ""
	case f.Confidence*math.Exp2(-now.Sub(f.ObservedAt).Hours()/u.HalfLife.Hours()) < u.Floor:
		return "not said again for long"
	}
	return ""
}

// Kept reports whether a fact stays whatever its age: a person stands behind it.
func Kept(f *memory.Fact) bool {
	return f.Pinned || f.Source == memory.Manual || f.Trust == memory.TrustPerson
}

// Everything calls yield for all memories that match, newest first.
func (e *Core) Everything(ctx context.Context, owner memory.Owner, q memory.Query, yield func(memory.Memory)) error {
	q.Limit = 500
	for {
		page, err := e.Store.List(ctx, owner, q)
		if err != nil {
			return fmt.Errorf("list memories: %w", err)
		}
		for _, m := range page.Memories {
			yield(m)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}
