package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// OpenTrials returns the trials in the data folder; with the store memory nothing is kept.
func OpenTrials(c config.Config) (*lessons.Trials, error) {
	if c.Store == "memory" {
		return &lessons.Trials{}, nil
	}
	dir, err := c.DataDir()
	return &lessons.Trials{Path: filepath.Join(dir, config.TrialsFile)}, err
}

// Try tries the model that learns by the settings, and keeps the trial.
func Try(ctx context.Context, c config.Config, prompts *prompt.Set) (is learn.Trial, err error) {
	kept, err := OpenTrials(c)
	if err != nil {
		return is, err
	}
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
	is.Model, is.Endpoint, is.At = cmp.Or(learner.Chosen(), model), learner.Endpoint(), memory.Time(time.Now())
	return is, kept.Keep(is)
}
