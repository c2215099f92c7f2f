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
	unfinished, err := e.Store.Jobs(ctx, owner)
	if err != nil {
		return nil, err
	}
	redundant, err := e.redundantJobs(ctx, owner, unfinished)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(unfinished, func(j memory.Job) bool { return redundant[j.ID] }), nil
}

// markProjectFacts sets InAllProjects to false for candidates that are valid only in the lesson's project.
func (e *Learner) markProjectFacts(l *Lesson) {
	if l.scope.Project == "" || l.scope.Conversation != "" || e.Opts.Learn.Scope == core.OfProject {
		return
	}
	for i := range l.candidates {
		c := &l.candidates[i]
		quote := c.Quote
		if c.Span != nil {
			quote = l.turnByID(c.Span.Turn).Content[c.Span.Start:c.Span.End]
		}
		c.InAllProjects = !learn.IsProjectFact(*c, quote)
	}
}

// JobResult returns the state of a learn job and, once it is done, its changes, or NotFound.
func (e *Learner) JobResult(ctx context.Context, owner memory.Owner, jobID string) (memory.JobState, []memory.Change, error) {
	turn, ok := strings.CutPrefix(jobID, LearnPrefix)
	if !ok {
		return "", nil, memory.Errorf(memory.NotFound, "no such job: %s", jobID)
	}
	unfinished, err := e.Store.Jobs(ctx, owner)
	if err != nil {
		return "", nil, err
	}
	for _, j := range unfinished {
		if j.ID == jobID {
			return j.State, nil, nil
		}
	}
	if _, err := e.Get(ctx, owner, turn); err != nil {
		return "", nil, err
	}
	changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: core.JobRunID(jobID)})
	return memory.JobDone, changes, err
}
