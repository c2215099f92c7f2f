package exchange

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/memory"
)

// Outlook predicts what the request will store, teach and forget, so that the built-in model does not
// promise more. It changes nothing, and waits at most as long as recall. Call it before RecordQuestion.
func (x *Exchange) Outlook(ctx context.Context) (o responder.Outlook) {
	ctx, cancel := context.WithTimeout(ctx, x.e.Opts.Deadline)
	defer cancel()
	pause := x.e.Paused(ctx, x.In.Owner)
	m := x.mode.restrictedBy(pause)
	kept := m.writes && pause != core.PauseUnknown
	learned := kept && m.learns && x.e.Lessons.Learns() && x.e.Opts.LearnAfter != core.Never
	granted := learned || kept && pause == core.PauseLearning // a pause of learning does not stop forgetting
	err := core.Guarded(x.e.Core, func() (err error) {
		o.Forget, o.Found, err = x.toForget(ctx, granted)
		return err
	})
	if o.Unsure = err != nil; o.Unsure {
		x.e.Log.Warn("cannot predict the memories that will be forgotten", "err", err)
	}
	switch {
	case pause == core.PauseMemory:
		o.Unkept = "Memory is paused"
	case !kept:
		o.Unkept = "This chat leaves nothing in memory"
	case granted && o.Forget != "": // forgetting does not depend on learning
	case pause == core.PauseLearning:
		o.Unlearned = "Learning is paused"
	case !learned:
		o.Unlearned = "Learning is off"
	}
	return o
}

// toForget describes the memories that the user asks to forget ("everything" for all memory), and
// returns their number.
func (x *Exchange) toForget(ctx context.Context, granted bool) (what string, found int, err error) {
	var about []string
	for _, wish := range x.wishes.Forget {
		n := 0
		if granted {
			if n, err = x.countToForget(ctx, wish); err != nil {
				return wish.What, found, err
			}
		}
		if wish.Of != extract.NamesNothing && n == 0 {
			continue // without a matching memory this is no forget request
		}
		if found += n; wish.All {
			wish.What = "everything"
		}
		about = append(about, wish.What)
	}
	return strings.Join(about, ", "), found, nil
}

// countToForget returns the number of memories that a forget request will retire. Earlier requests and
// the built-in model's answers, which repeat memories, are not counted.
func (x *Exchange) countToForget(ctx context.Context, wish extract.Command) (int, error) {
	found, err := x.e.Curate.Meant(ctx, memory.Scope{Owner: x.In.Owner, Project: x.In.Extras.Project}, wish)
	if err != nil {
		return 0, err
	}
	found = slices.DeleteFunc(found, func(m memory.Memory) bool {
		if m.Turn == nil || m.Turn.Role != memory.RoleUser {
			return m.Turn != nil && m.Turn.Name == memory.RecallModel
		}
		return len(learn.MemoryRequestsIn(*m.Turn).Forget) > 0
	})
	if wish.OffTheRecord {
		return len(found) + 1, nil // includes the current message
	}
	return len(found), nil
}
