package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// trialsFile returns the path of the file that keeps trials, "" with the store memory.
func trialsFile(c config.Config) string {
	dir, err := c.DataDir()
	if err != nil || c.Store == "memory" {
		return ""
	}
	return filepath.Join(dir, config.TrialsFile)
}

// readTrials returns the trials in the file, none if it cannot be read.
func readTrials(path string) (all []learn.Trial) {
	if file, err := os.ReadFile(path); err != nil || json.Unmarshal(file, &all) != nil {
		return nil
	}
	return all
}

// Trial returns the last trial of a model at the server that learns, if it still counts.
func (l *Learner) Trial(model string) (is learn.Trial, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	endpoint := l.endpoint()
	for _, t := range append(readTrials(trialsFile(l.asked)), l.trials...) {
		if t.Model == model && t.Endpoint == endpoint && time.Since(t.At) < learn.TrialLasts && !t.At.Before(is.At) {
			is, ok = t, true
		}
	}
	l.judged = is
	return is, ok
}

// KeepTrial keeps a trial that was made now at the server that learns.
func (l *Learner) KeepTrial(is learn.Trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is.Endpoint, is.At = l.endpoint(), memory.Time(time.Now())
	put := func(all []learn.Trial) []learn.Trial {
		return append(slices.DeleteFunc(all, func(t learn.Trial) bool { return t.Model == is.Model && t.Endpoint == is.Endpoint }), is)
	}
	l.judged, l.trials = is, put(l.trials)
	l.log.Info(is.String(), "passed", is.Passed)
	path := trialsFile(l.asked)
	if path == "" {
		return
	}
	file, err := json.MarshalIndent(put(readTrials(path)), "", "  ")
	err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)) // a server keeps memory elsewhere
	if err = errors.Join(err, disk.ReplaceAmongOthers(path, append(file, '\n'))); err != nil {
		l.log.Warn("a trial is not kept beyond the end of the process", "err", err)
	}
}

// endpoint returns the address of the server that learns, as it may be shown; l.mu is held.
func (l *Learner) endpoint() string {
	return config.ShownURL(LearnerOptions(l.provider.At(l.asked)).BaseURL)
}

// Distrusted says why what the model of the last lesson writes waits, "" if it does not.
func (l *Learner) Distrusted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.judged.Passed || l.judged.Why == "" {
		return ""
	}
	return l.judged.String()
}

// Try tries the model that learns by the settings, and keeps the trial. [memory.Invalid]: it did not
// pass.
func Try(ctx context.Context, c config.Config, prompts *prompt.Set) (is learn.Trial, err error) {
	learner, err := ChooseLearner(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return is, err
	}
	defer func() { err = errors.Join(err, learner.Close()) }()
	model := learner.Wanted()
	is, err = learn.Try(prompts.For(model), func(p memory.Prompt) (memory.Reply, error) {
		p.Model = model
		return learner.Complete(ctx, p)
	})
	if err != nil {
		return is, fmt.Errorf("try the model that learns (%s): %w", learner.Learns().Who, err)
	}
	is.Model = learner.Chosen()
	learner.KeepTrial(is)
	if is, _ = learner.Trial(is.Model); !is.Passed {
		err = memory.Errorf(memory.Invalid, "%s; %s", is, learn.TrialHelp)
	}
	return is, err
}
