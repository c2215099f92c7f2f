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

// storedTrials returns the path of the trials file ("" if the setting store is "memory") and its trials, by
// model and endpoint. An unreadable file counts as empty.
func (l *Learner) kept() (path string, trials map[string]learn.Trial) {
	if dir, err := l.asked.DataDir(); err == nil && l.asked.Store != "memory" {
		path = filepath.Join(dir, "trials.json")
	}
	if file, err := os.ReadFile(path); err != nil || json.Unmarshal(file, &trials) != nil || trials == nil {
		return path, map[string]learn.Trial{}
	}
	return path, trials
}

// trialKey returns the key of a model's trial. It contains the endpoint, since models of different servers
// may have the same name.
func (l *Learner) idOf(model string) string {
	return model + " at " + config.ShownURL(LearnerOptions(l.provider.At(l.asked)).BaseURL)
}

// Trial returns the latest trial of a model at the learning server, and false if it is older than 30 days.
func (l *Learner) Trial(model string) (is learn.Trial, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, kept := l.kept()
	is = l.trials[l.idOf(model)]
	if other := kept[l.idOf(model)]; other.At.After(is.At) {
		is = other
	}
	if time.Since(is.At) > 30*24*time.Hour {
		return learn.Trial{}, false
	}
	l.judged = is
	return is, true
}

// StoreTrial stores a trial for the learning server, with the current time.
func (l *Learner) KeepTrial(is learn.Trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is.At = memory.Time(time.Now())
	l.judged, l.trials[l.idOf(is.Model)] = is, is
	l.log.Info(is.String())
	path, kept := l.kept()
	if path == "" {
		return
	}
	kept[l.idOf(is.Model)] = is
	file, err := json.MarshalIndent(kept, "", "  ")
	err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)) // with a database server, the data folder may not exist
	if err = errors.Join(err, disk.ReplaceAmongOthers(path, append(file, '\n'))); err != nil {
		l.log.Warn("cannot store the trial of the learning model; it is lost when the process ends", "err", err)
	}
}

// TryLearner runs and stores a trial of the configured learning model. A failed trial is [memory.Invalid].
func Try(ctx context.Context, c config.Config, prompts *prompt.Set) (is learn.Trial, err error) {
	l, err := ChooseLearner(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return is, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if is, err = learn.Try(prompts.For(l.Wanted()), func(p memory.Prompt) (memory.Reply, error) { return l.Complete(ctx, p) }); err != nil {
		return is, fmt.Errorf("try the model that learns (%s): %w", l.Learns().Who, err)
	}
	is.Model = l.Chosen()
	if l.KeepTrial(is); !is.Passed {
		err = memory.Errorf(memory.Invalid, "%s", is)
	}
	return is, err
}
