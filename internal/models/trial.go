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

// kept returns the path of the file that keeps trials, "" with the store memory, and what it has by
// model and endpoint. A file that cannot be read is as good as none.
func (l *Learner) kept() (path string, trials map[string]learn.Trial) {
	if dir, err := l.asked.DataDir(); err == nil && l.asked.Store != "memory" {
		path = filepath.Join(dir, "trials.json")
	}
	if file, err := os.ReadFile(path); err != nil || json.Unmarshal(file, &trials) != nil || trials == nil {
		return path, map[string]learn.Trial{}
	}
	return path, trials
}

// idOf returns what a model's trials are kept under: the same name elsewhere may be another model.
func (l *Learner) idOf(model string) string {
	return model + " at " + config.ShownURL(LearnerOptions(l.provider.At(l.asked)).BaseURL)
}

// Trial returns the last trial of a model at the server that learns, if it still counts.
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

// KeepTrial keeps a trial that was made now at the server that learns.
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
	err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)) // a server keeps memory elsewhere
	if err = errors.Join(err, disk.ReplaceAmongOthers(path, append(file, '\n'))); err != nil {
		l.log.Warn("a trial is not kept beyond the end of the process", "err", err)
	}
}

// Try tries the model that learns by the settings, and keeps the trial. [memory.Invalid]: it did not
// pass.
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
