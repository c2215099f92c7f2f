package lessons

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

// trialPause is how long after a trial that could not be made the next one is made.
const trialPause = 10 * time.Minute

// Trials are the trials of the models that learn in this process.
type Trials struct {
	Path string // of the file that keeps them beyond its end, as good as none if it cannot be read; "": nothing does

	trying sync.Mutex    // held while a model is tried; taken before mu
	mu     sync.Mutex    // guards used
	used   []learn.Trial // each model at each endpoint once, the last one last
}

func (t *Trials) read() (all []learn.Trial) {
	if file, err := os.ReadFile(t.Path); err == nil && json.Unmarshal(file, &all) != nil {
		return nil
	}
	return all
}

// put returns trials with another in the place of that of the same model at the same endpoint.
func put(all []learn.Trial, is learn.Trial) []learn.Trial {
	return append(slices.DeleteFunc(all, is.SameModel), is)
}

// of returns the trial of a model at an endpoint, if it still counts.
func (t *Trials) of(model learn.Trial, now time.Time) (is learn.Trial, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range append(t.read(), t.used...) {
		if known.SameModel(model) && !known.At.Before(is.At) {
			is, ok = known, true
		}
	}
	if ok {
		t.used = put(t.used, is)
	}
	lasts := learn.TrialLasts
	if is.Lost {
		lasts = trialPause
	}
	return is, ok && now.Sub(is.At) < lasts
}

// Keep puts a trial in the place of the earlier one of the same model at the same endpoint.
func (t *Trials) Keep(is learn.Trial) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = put(t.used, is)
	if t.Path == "" || is.Lost {
		return nil
	}
	file, err := json.MarshalIndent(put(t.read(), is), "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o700); err != nil { // a server keeps memory elsewhere
		return err
	}
	return disk.ReplaceAmongOthers(t.Path, append(file, '\n'))
}

// Failed returns the trials of models that learn and did not pass.
func (t *Trials) Failed() []learn.Trial {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.used), func(is learn.Trial) bool { return is.Passed })
}

// distrust returns why a person looks at what the model that learns for an owner writes, "" if that is
// remembered at once. It tries a model that was not tried yet. An error is of one that cannot be
// asked now.
func (e *Asker) distrust(ctx context.Context, owner memory.Owner) (string, error) {
	switch e.Opts.Learn.Trust {
	case core.TrustTried:
	case core.TrustNever:
		return "a model wrote it (learn.trust)", nil
	default:
		return "", nil
	}
	is, err := e.tried(ctx, owner)
	if err != nil || is.Passed {
		return "", err
	}
	return "its model did not pass the trial (learn.trust)", nil
}

func (e *Asker) tried(ctx context.Context, owner memory.Owner) (learn.Trial, error) {
	e.Trials.trying.Lock()
	defer e.Trials.trying.Unlock()
	if is, ok := e.Trials.of(learn.Trial{Model: e.learnModel(owner), Endpoint: e.endpoint()}, e.Time()); ok {
		return is, nil
	}
	is, err := learn.Try(e.learnPrompts(owner), func(ask memory.Prompt) (memory.Reply, error) { return e.Complete(ctx, owner, ask) })
	var off *jobs.PutOff
	switch {
	case errors.As(err, &off), errors.Is(err, llm.ErrNoModel), ctx.Err() != nil:
		return learn.Trial{}, err
	case err != nil:
		is = learn.Trial{Lost: true, Why: "it gave no reply (" + llm.Trouble(err) + "), so that it is tried again"}
	}
	is.Model, is.Endpoint, is.At = e.learnModel(owner), e.endpoint(), e.Time() // the first call may decide which
	if is.Passed {
		e.Log.Info("the model that learns passed its trial", "model", is.Model, "why", is.Why)
	} else {
		e.Log.Warn(FailedTrial(is), "do", TrialHelp)
	}
	if err := e.Trials.Keep(is); err != nil {
		e.Log.Warn("a trial is not kept beyond the end of the process", "err", err)
	}
	return is, nil
}

// endpoint returns the address of the model's server, "" for a model that the program brings.
func (e *Asker) endpoint() string {
	if at, ok := e.LLM.(interface{ Endpoint() string }); ok {
		return at.Endpoint()
	}
	return ""
}

// TrialHelp is what to do about a trial that failed.
const TrialHelp = "name a stronger model as learn.model, or set learn.trust to always; loci models try repeats the trial"

// FailedTrial says of a trial that was not passed what follows from it.
func FailedTrial(is learn.Trial) string {
	return "what the model " + is.Model + " learns waits for review, for in its trial " + is.Why
}
