package lessons

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Learned says where a job that learns stands, and what it changed once it is done. NotFound
// for a job that never was.
func (e *Learner) Learned(ctx context.Context, owner memory.Owner, job string) (memory.JobState, []memory.Change, error) {
	turn, ok := strings.CutPrefix(job, LearnPrefix)
	if !ok {
		return "", nil, memory.Errorf(memory.NotFound, "no such job: %s", job)
	}
	unfinished, err := e.Store.Jobs(ctx, owner)
	if err != nil {
		return "", nil, err
	}
	for _, j := range unfinished {
		if j.ID == job {
			return j.State, nil, nil
		}
	}
	if _, err := e.Get(ctx, owner, turn); err != nil {
		return "", nil, err
	}
	changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: core.RunOf(job)})
	return memory.JobDone, changes, err
}
