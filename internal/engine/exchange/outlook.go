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

// PredictEffect predicts what Loci will store, learn and forget, so that the built-in model does not promise
// more. It changes nothing, and waits at most as long as recall. Call it before RecordQuestion.
func (x *Exchange) PredictEffect(ctx context.Context) (effect responder.MemoryEffect) {
	ctx, cancel := context.WithTimeout(ctx, x.exchanges.Opts.Deadline)
	defer cancel()
	pause := x.exchanges.CurrentPause(ctx, x.Incoming.Owner)
	m := x.mode.restrictedBy(pause)
	storesText := m.storesText && pause != core.PauseUnknown
	learns := storesText && m.learnsFacts && x.exchanges.Lessons.CanLearn() && x.exchanges.Opts.LearnAfter != core.NeverLearn
	allowsForget := learns || storesText && pause == core.PauseLearning // a pause of learning does not stop forgetting
	err := core.CatchPanic(x.exchanges.Core, func() (err error) {
		effect.ForgetRequest, effect.ForgetCount, err = x.describeForgetRequests(ctx, allowsForget)
		return err
	})
	if effect.ForgetUnknown = err != nil; effect.ForgetUnknown {
		x.exchanges.Log.Warn("cannot predict the memories that will be forgotten", "err", err)
	}
	switch {
	case pause == core.PauseMemory:
		effect.NotStoredReason = "Memory is paused"
	case !storesText:
		effect.NotStoredReason = "This chat leaves nothing in memory"
	case allowsForget && effect.ForgetRequest != "": // forgetting does not depend on learning
	case pause == core.PauseLearning:
		effect.NotLearnedReason = "Learning is paused"
	case !learns:
		effect.NotLearnedReason = "Learning is off"
	}
	return effect
}

// describeForgetRequests describes the memories that the user asks to forget ("everything" for all memory),
// and returns their number.
func (x *Exchange) describeForgetRequests(ctx context.Context, allowsForget bool) (description string, count int, err error) {
	var subjects []string
	for _, command := range x.memoryRequests.ForgetCommands {
		n := 0
		if allowsForget {
			if n, err = x.countToForget(ctx, command); err != nil {
				return command.Object, count, err
			}
		}
		if command.ObjectKind != extract.ObjectUnambiguous && n == 0 {
			continue // without a matching memory this is no forget request
		}
		if count += n; command.IsEverything {
			command.Object = "everything"
		}
		subjects = append(subjects, command.Object)
	}
	return strings.Join(subjects, ", "), count, nil
}

// countToForget returns the number of memories that a forget request will retire. Earlier forget requests and
// the built-in model's answers, which repeat memories, are not counted.
func (x *Exchange) countToForget(ctx context.Context, command extract.ForgetCommand) (int, error) {
	memories, err := x.exchanges.Curate.FindToForget(ctx, memory.Scope{Owner: x.Incoming.Owner, Project: x.Incoming.Extras.Project}, command)
	if err != nil {
		return 0, err
	}
	memories = slices.DeleteFunc(memories, func(m memory.Memory) bool {
		if m.Turn == nil || m.Turn.Role != memory.RoleUser {
			return m.Turn != nil && m.Turn.Name == memory.RecallModel
		}
		return len(learn.MemoryRequestsIn(*m.Turn).ForgetCommands) > 0
	})
	if command.OffTheRecord {
		return len(memories) + 1, nil // the current message counts too
	}
	return len(memories), nil
}
