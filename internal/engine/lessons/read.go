package lessons

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Jobs returns an owner's unfinished jobs, newest first, without redundant jobs: see
// [Learner.redundantJobs].
func (e *Learner) Jobs(ctx context.Context, owner memory.Owner) ([]memory.Job, error) {
	all, err := e.Store.Jobs(ctx, owner)
	if err != nil {
		return nil, err
	}
	needless, err := e.needlessJobs(ctx, owner, all)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(j memory.Job) bool { return needless[j.ID] }), nil
}

// markProjectFacts sets for each candidate whether the fact is about the lesson's project.
func (e *Learner) markProjectFacts(l *Lesson) {
	if l.scope.Project == "" || l.scope.Conversation != "" || e.Opts.Learn.Scope == core.OfProject {
		return
	}
	for i := range l.cands {
		c := &l.cands[i]
		quote := c.Quote
		if c.Span != nil {
			quote = l.turn(c.Span.Turn).Content[c.Span.Start:c.Span.End]
		}
		c.Everywhere = !learn.OfProject(*c, quote)
	}
}

// JobResult returns the state of a learn job and, once it is done, its changes, or NotFound.
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
