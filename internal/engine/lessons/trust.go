package lessons

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// TrialModel is a model that must pass a trial before it learns. A program's own model needs no trial.
type TrialModel interface {
	// ChosenModel returns the name of the model that learns, "" if each chat's model learns.
	ChosenModel() string
	Trial(model string) (trial learn.TrialResult, ok bool)
	StoreTrial(trial learn.TrialResult)
}

// reviewReason returns why a person must review the facts of the owner's learning model, or "" if no
// review is needed. It first runs the trial of a new model.
func (e *Asker) reviewReason(ctx context.Context, owner memory.Owner) (reason string, err error) {
	model, ok := e.LLM.(TrialModel)
	switch {
	case e.Opts.Learn.Trust == "never":
		return "a model wrote it (learn.trust)", nil
	case e.Opts.Learn.Trust != "tried" || !ok:
		return "", nil
	}
	trial, ok := model.Trial(e.learningModel(owner))
	if !ok {
		if !e.trialMutex.TryLock() {
			return "", memory.Errorf(memory.Unavailable, "%w", &jobs.PutOff{Until: e.Time().Add(5 * time.Second), Reason: "the learning model is on trial"})
		}
		defer e.trialMutex.Unlock()
		if trial, err = learn.RunTrial(e.learningPrompts(owner), func(p memory.Prompt) (memory.Reply, error) { return e.Complete(ctx, owner, p) }); err != nil {
			return "", err
		}
		trial.Model = e.learningModel(owner) // the first call may choose the model
		model.StoreTrial(trial)
	}
	if trial.Passed {
		return "", nil
	}
	return "its model did not pass the trial (learn.trust)", nil
}
