package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

func retrievalCommand() *cobra.Command {
	r := &run{}
	var pooled, fit bool
	cmd := r.command("retrieval FILE...", "Measure how well memory finds messages, on public data or your own",
		cobra.MinimumNArgs(1), func(cmd *cobra.Command, files []string) error {
			set, err := eval.Open(r.set, r.limit, files...)
			if err != nil {
				return err
			}
			r.out.About("set", set.Name)
			if fit {
				return r.fit(cmd.Context(), set)
			}
			return r.retrieval(cmd.Context(), set, pooled)
		})
	r.setFlags(cmd, "locomo", "the data set's format")
	f := cmd.Flags()
	f.IntVar(&r.limit, "limit", 0, "number of conversations (0: all)")
	f.BoolVar(&pooled, "pooled", false, "all conversations in one memory")
	f.BoolVar(&fit, "fit", false, "fit the weights of the ranking, with cross-validation over conversations")
	return cmd
}

func (r *run) retrieval(ctx context.Context, set eval.Dataset, pooled bool) error {
	var report eval.Report
	err := r.server(ctx, func(target *eval.Instance) (err error) {
		report, err = eval.Measured(ctx, target, set, pooled, eval.Workers)
		return err
	})
	if err != nil {
		return err
	}
	r.out.About("pooled", pooled)
	r.out.Say("%s, %d conversations, pooled: %v; in brackets: 95 %% intervals",
		set.Name, len(set.Conversations), pooled)
	return r.out.Rows(report.Rows()...)
}

// server runs do with a new Loci, and prints its models and the number of degraded searches.
func (r *run) server(ctx context.Context, do func(*eval.Instance) error) error {
	instance, err := eval.OpenInstance(ctx, r.config, nil, nil)
	if err != nil {
		return err
	}
	err = do(instance)
	r.models(instance.Models())
	if n := instance.Skipped(); n > 0 {
		r.out.Say("%d searches were degraded: a stage of recall was skipped", n)
		r.out.About("skipped", n)
	}
	return errors.Join(err, instance.Close())
}

// fit prints the best weights of the ranking with the current embedder.
func (r *run) fit(ctx context.Context, set eval.Dataset) (err error) {
	if _, err := r.config.BenchConfig(nil); err != nil { // fails if the settings name a server
		return err
	}
	config, chosen := models.ChooseEmbedder(ctx, r.config)
	config.Reranker = "none"
	opened, err := models.Open(config, chosen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if asked, ok := opened.Embedder.(interface{ Measure(context.Context) error }); ok {
		if err := asked.Measure(ctx); err != nil {
			return fmt.Errorf("embedder: %w", err)
		}
	}
	d := &eval.Direct{Embedder: opened.Embedder}
	if b, ok := opened.Embedder.(interface{ Background() float64 }); ok {
		d.Options.BackgroundCosine = b.Background()
	}
	examples, err := eval.Examples(ctx, d, set)
	if err != nil {
		return err
	}
	r.models(eval.ModelsOf(opened.Config))
	return r.out.Rows(eval.FitRows(examples, recall.DefaultVectorWeight)...)
}

func chatCommand() *cobra.Command {
	r := &run{}
	var facts string
	var direct bool
	cmd := r.command("chat", "Measure whether the memories that a message needs reach the prompt of a chat",
		cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
			if facts != eval.FactsByRules && facts != eval.FactsGiven {
				return memory.Errorf(memory.Invalid, "--facts: invalid value %q; valid: rules, given", facts)
			}
			if r.show && r.heldBack {
				return memory.Errorf(memory.Invalid, "--show: messages of the held-back half must stay unseen")
			}
			persons, err := eval.OpenChat(r.set, r.heldBack)
			if err == nil && direct {
				persons, err = eval.Directly(r.set, persons)
			}
			if err != nil {
				return err
			}
			report, err := eval.Chat(cmd.Context(), persons, r.config, facts)
			if err != nil {
				return err
			}
			return r.chats(report, persons, facts)
		})
	r.setFlags(cmd, "bench/eval/testdata/chat-recall", "folder of the trial sets")
	f := cmd.Flags()
	f.BoolVar(&r.heldBack, "held-back", false, "the half that is not used for tuning")
	f.BoolVar(&direct, "direct", false, "ask only the short questions of the folder's direct.jsonl")
	f.StringVar(&facts, "facts", eval.FactsByRules, "source of facts: rules (learned) or given (from the set)")
	f.BoolVar(&r.show, "show", false, "list the messages that were not answered, and the unrelated ones with memory")
	return cmd
}

// chats prints the results of trial sets.
func (r *run) chats(report eval.ChatReport, persons []eval.ChatPerson, facts string) error {
	r.out.About("facts", facts)
	r.models(report.Models)
	r.out.Say("%d people; facts: %s; top_k %d", len(persons), facts, report.TopK)
	err := r.out.Rows(report.Rows()...)
	for _, line := range report.Missed {
		if r.show {
			r.out.Say("missed: %s", line)
		}
	}
	return err
}

func learnCommand() *cobra.Command {
	r := &run{}
	var o eval.LearnOptions
	cmd := r.command("learn FILE...", "Measure what is learned from conversations, by rules or a real model",
		cobra.MinimumNArgs(1), func(cmd *cobra.Command, files []string) error {
			if (r.url == "") != (o.Model == "") {
				return memory.Errorf(memory.Invalid, "--url and --model go together")
			}
			lessons, err := eval.OpenLearn(r.set, r.limit, files...)
			if err != nil {
				return err
			}
			o.Config, o.URL, o.Key = r.config, r.url, r.key
			report, err := eval.Learned(cmd.Context(), lessons, o)
			if err != nil {
				return err
			}
			r.out.About("set", r.set)
			r.models(report.Models)
			r.out.Say("%d lessons; in brackets: 95 %% intervals, lessons resampled", len(lessons))
			err = r.out.Rows(report.Rows()...)
			for _, l := range report.Lessons {
				if r.show {
					r.out.Say("\n%s\n  %s", l.Name, strings.Join(l.Shown, "\n  "))
				}
			}
			return err
		})
	r.setFlags(cmd, "jsonl", "the data set's format")
	r.modelFlags(cmd, "LOCI_LEARN_KEY")
	f := cmd.Flags()
	f.IntVar(&r.limit, "limit", 0, "number of lessons (0: all)")
	f.StringVar(&o.Model, "model", "", "model that learns (default: the built-in rules)")
	f.BoolVar(&r.show, "show", false, "list missed and junk facts, and why learning failed")
	return cmd
}

// qa has the flags of the command qa.
type qa struct {
	run
	budgets             []int
	answer, judge, rows string // names of models, and the file of answers
}

func qaCommand() *cobra.Command {
	q := &qa{}
	cmd := q.command("qa FILE...", "Measure how much of the evidence fits into a context, and what a model answers from it",
		cobra.MinimumNArgs(1), q.measure)
	q.setFlags(cmd, "locomo", "the data set's format")
	q.modelFlags(cmd, "LOCI_QA_KEY")
	f := cmd.Flags()
	f.BoolVar(&q.heldBack, "held-back", false, "the half of LoCoMo that is not used for tuning")
	f.IntVar(&q.limit, "limit", 0, "number of conversations (0: all)")
	f.IntSliceVar(&q.budgets, "budget", []int{250, 700, 1500, 5000}, "tokens of the context")
	f.StringVar(&q.answer, "answer-model", "", "model that answers")
	f.StringVar(&q.judge, "judge-model", "", "model that judges (default: the one that answers)")
	f.StringVar(&q.rows, "out", "", "new `file` for the answers, a JSON line each")
	return cmd
}

func (q *qa) measure(cmd *cobra.Command, files []string) error {
	switch {
	case len(q.budgets) == 0 || slices.Min(q.budgets) < 1:
		return memory.Errorf(memory.Invalid, "--budget: must be above 0 (example: 250,700)")
	case (q.answer == "") != (q.url == "") || (q.answer == "") != (q.rows == ""):
		return memory.Errorf(memory.Invalid, "--answer-model, --url and --out go together")
	}
	set, err := eval.Open(q.set, 0, files...)
	if err == nil {
		set, err = set.Half(q.heldBack, q.limit)
	}
	if err != nil {
		return err
	}
	q.out.About("set", set.Name)
	q.out.About("held_back", q.heldBack)
	var rows []eval.QARow
	err = q.server(cmd.Context(), func(target *eval.Instance) (err error) {
		rows, err = eval.Retrieve(cmd.Context(), set, target, q.budgets)
		return err
	})
	if err == nil && q.answer != "" {
		err = q.ask(cmd.Context(), rows)
	}
	if err != nil {
		return err
	}
	q.out.Say("%s, %d conversations, held back: %v; in brackets: 95 %% intervals",
		set.Name, len(set.Conversations), q.heldBack)
	return q.out.Rows(eval.QARows(rows, q.answer != "", q.budgets)...)
}

// ask lets models answer rows and judge the answers.
func (q *qa) ask(ctx context.Context, rows []eval.QARow) error {
	// A limit of tokens per minute may need more retries than a chat allows.
	o := llm.Options{BaseURL: q.url, Key: q.key, Model: q.answer, Timeout: llm.DefaultTimeout}
	o.RetryTimeout, o.MaxTries = 10*time.Minute, 8
	answer, err := llm.New(o)
	if err != nil {
		return memory.Errorf(memory.Invalid, "--url: %v", err)
	}
	defer answer.Close()
	o.Model = cmp.Or(q.judge, q.answer)
	judge, err := llm.New(o)
	if err != nil {
		return err
	}
	defer judge.Close()
	out, err := os.OpenFile(q.rows, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return memory.Errorf(memory.Invalid, "--out: %v", err)
	}
	reader := eval.Reader{Answer: answer, Judge: judge, Out: out, Workers: 4}
	return errors.Join(reader.Ask(ctx, rows), out.Close())
}
