package lessons

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// trialModel is a model that must pass a trial before it learns. A program's own model needs no trial.
type onTrial interface {
	Trial(model string) (is learn.Trial, ok bool)
	KeepTrial(is learn.Trial)
}

// reviewReason returns why a person must review the facts of the owner's learning model, or "" if no
// review is needed. It first runs the trial of a new model.
func (e *Asker) reviewReason(ctx context.Context, owner memory.Owner) (why string, err error) {
	model, ok := e.LLM.(onTrial)
	switch {
	case e.Opts.Learn.Trust == "never":
		return "a model wrote it (learn.trust)", nil
	case e.Opts.Learn.Trust != "tried" || !ok:
		return "", nil
	}
	is, ok := model.Trial(e.learnModel(owner))
	if !ok {
		if !e.trying.TryLock() {
			return "", memory.Errorf(memory.Unavailable, "%w", &jobs.PutOff{Until: e.Time().Add(5 * time.Second), Why: "the learning model is on trial"})
		}
		defer e.trying.Unlock()
		if is, err = learn.Try(e.learnPrompts(owner), func(p memory.Prompt) (memory.Reply, error) { return e.Complete(ctx, owner, p) }); err != nil {
			return "", err
		}
		is.Model = e.learnModel(owner) // the first call may choose the model
		model.KeepTrial(is)
	}
	if is.Passed {
		return "", nil
	}
	return "its model did not pass the trial (learn.trust)", nil
}
