package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// storedTrials returns the path of the trials file ("" if the setting store is "memory") and the trials in
// the file, by trialKey. An unreadable file counts as empty.
func (l *Learner) storedTrials() (path string, trials map[string]learn.TrialResult) {
	if dir, err := l.settings.DataDir(); err == nil && l.settings.Store != "memory" {
		path = filepath.Join(dir, "trials.json")
	}
	if file, err := os.ReadFile(path); err != nil || json.Unmarshal(file, &trials) != nil || trials == nil {
		return path, map[string]learn.TrialResult{}
	}
	return path, trials
}

// trialKey returns the key of a model's trial. It contains the endpoint, since models of different servers
// may have the same name.
func (l *Learner) trialKey(model string) string {
	return model + " at " + config.RedactURL(LearnerOptions(l.provider.ApplyTo(l.settings)).BaseURL)
}

// Trial returns the latest trial of a model at the learning server, or false if that trial is over 30 days old.
func (l *Learner) Trial(model string) (trial learn.TrialResult, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, stored := l.storedTrials()
	trial = l.trials[l.trialKey(model)]
	if storedTrial := stored[l.trialKey(model)]; storedTrial.At.After(trial.At) {
		trial = storedTrial
	}
	if time.Since(trial.At) > 30*24*time.Hour {
		return learn.TrialResult{}, false
	}
	l.lastTrial = trial
	return trial, true
}

// StoreTrial stores a trial for the learning server, with the current time.
func (l *Learner) StoreTrial(trial learn.TrialResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	trial.At = memory.Time(time.Now())
	l.lastTrial, l.trials[l.trialKey(trial.Model)] = trial, trial
	l.log.Info(trial.String())
	path, stored := l.storedTrials()
	if path == "" {
		return
	}
	stored[l.trialKey(trial.Model)] = trial
	file, err := json.MarshalIndent(stored, "", "  ")
	err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)) // with a database server, the data folder may not exist
	if err = errors.Join(err, disk.ReplaceFileShared(path, append(file, '\n'))); err != nil {
		l.log.Warn("cannot store the result of testing the learning model; the test will run again after a restart", "err", err)
	}
}

// TryLearner runs and stores a trial of the configured learning model. A failed trial is [memory.Invalid].
func TryLearner(ctx context.Context, c config.Config, prompts *prompt.Set) (trial learn.TrialResult, err error) {
	l, err := ChooseLearner(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return trial, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if trial, err = learn.RunTrial(prompts.ForModel(l.WantedModel()), func(p memory.Prompt) (memory.Reply, error) { return l.Complete(ctx, p) }); err != nil {
		return trial, fmt.Errorf("try the model that learns (%s): %w", l.Status().Description, err)
	}
	trial.Model = l.ChosenModel()
	if l.StoreTrial(trial); !trial.Passed {
		err = memory.Errorf(memory.Invalid, "%s", trial)
	}
	return trial, err
}
