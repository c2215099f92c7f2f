package lessons

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Jobs returns an owner's unfinished jobs, newest first: all that there is still
// something to do for, see [Engine.needless].
func (e *Learner) Jobs(ctx context.Context, owner memory.Owner) ([]memory.Job, error) {
	all, err := e.Store.Jobs(ctx, owner)
	if err != nil {
		return nil, err
	}
	needless, err := e.needless(ctx, owner, all)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(j memory.Job) bool { return needless[j.ID] }), nil
}
