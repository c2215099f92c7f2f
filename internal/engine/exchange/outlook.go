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
func (x *Exchange) Outlook(ctx context.Context) (outlook responder.MemoryEffect) {
	ctx, cancel := context.WithTimeout(ctx, x.exchanges.Opts.Deadline)
	defer cancel()
	pause := x.exchanges.CurrentPause(ctx, x.Incoming.Owner)
	m := x.mode.restrictedBy(pause)
	storesText := m.storesText && pause != core.PauseUnknown
	learns := storesText && m.learnsFacts && x.exchanges.Lessons.CanLearn() && x.exchanges.Opts.LearnAfter != core.NeverLearn
	grantsForget := learns || storesText && pause == core.PauseLearning // a pause of learning does not stop forgetting
	err := core.CatchPanic(x.exchanges.Core, func() (err error) {
		outlook.ForgetRequest, outlook.ForgetCount, err = x.toForget(ctx, grantsForget)
		return err
	})
	if outlook.ForgetUnknown = err != nil; outlook.ForgetUnknown {
		x.exchanges.Log.Warn("cannot predict the memories that will be forgotten", "err", err)
	}
	switch {
	case pause == core.PauseMemory:
		outlook.NotStoredReason = "Memory is paused"
	case !storesText:
		outlook.NotStoredReason = "This chat leaves nothing in memory"
	case grantsForget && outlook.ForgetRequest != "": // forgetting does not depend on learning
	case pause == core.PauseLearning:
		outlook.NotLearnedReason = "Learning is paused"
	case !learns:
		outlook.NotLearnedReason = "Learning is off"
	}
	return outlook
}

// describeForgetRequests describes the memories that the user asks to forget ("everything" for all memory),
// and returns their number.
func (x *Exchange) toForget(ctx context.Context, grantsForget bool) (description string, count int, err error) {
	var subjects []string
	for _, command := range x.memoryRequests.ForgetCommands {
		n := 0
		if grantsForget {
			if n, err = x.countToForget(ctx, command); err != nil {
				return command.Object, count, err
			}
		}
		if command.ObjectKind != extract.ObjectNotNamed && n == 0 {
			continue // without a matching memory this is no forget request
		}
		if count += n; command.Everything {
			command.Object = "everything"
		}
		subjects = append(subjects, command.Object)
	}
	return strings.Join(subjects, ", "), count, nil
}

// countToForget returns the number of memories that a forget request will retire. Earlier requests and
// the built-in model's answers, which repeat memories, are not counted.
func (x *Exchange) countToForget(ctx context.Context, command extract.Command) (int, error) {
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
		return len(memories) + 1, nil // includes the current message
	}
	return len(memories), nil
}
