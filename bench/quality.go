package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/memory"
)

func retrievalCommand() *cobra.Command {
	r := &run{}
	var o eval.RetrievalOptions
	var fit bool
	cmd := r.command("retrieval FILE...", "Measure how well memory finds what was said, on public data sets or your own",
		cobra.MinimumNArgs(1), func(cmd *cobra.Command, files []string) error {
			set, err := eval.Open(r.set, r.limit, files...)
			if err != nil {
				return err
			}
			r.about("set", set.Name)
			if fit {
				return r.fit(cmd.Context(), set)
			}
			return r.retrieval(cmd.Context(), set, o)
		})
	r.setFlags(cmd, "locomo", "the data set's format: "+strings.Join(eval.Formats(), ", "))
	f := cmd.Flags()
	f.IntVar(&r.limit, "limit", 0, "only the first so many conversations")
	f.BoolVar(&o.Pooled, "pooled", false, "all conversations in one memory")
	f.BoolVar(&fit, "fit", false, "fit the weights of the ranking, with one part of the conversations left out at a time")
	return cmd
}

func (r *run) retrieval(ctx context.Context, set eval.Dataset, o eval.RetrievalOptions) error {
	var report eval.Report
	err := r.server(ctx, func(target *eval.Instance) (err error) {
		report, err = eval.Measured(ctx, target, set, o)
		return err
	})
	if err != nil {
		return err
	}
	r.about("pooled", o.Pooled)
	unit := "questions"
	if report.Clustered() {
		unit = "conversations"
	}
	r.out.Say("%s, %d conversations, pooled: %v; in brackets: 95 %% intervals, %s resampled",
		set.Name, len(set.Conversations), o.Pooled, unit)
	var m eval.Mended
	for _, c := range set.Conversations {
		m.Repaired, m.Excluded, m.WithoutGold = m.Repaired+c.Repaired, m.Excluded+c.Excluded, m.WithoutGold+c.WithoutGold
	}
	r.out.Say("gold: %d ids repaired, %d excluded; %d questions without gold are not counted",
		m.Repaired, m.Excluded, m.WithoutGold)
	return r.out.Rows(report.Rows()...)
}

// server opens a Loci of its own while do asks it, and says which models it had, and how many searches
// were not whole.
func (r *run) server(ctx context.Context, do func(*eval.Instance) error) error {
	instance, err := eval.OpenInstance(ctx, r.config, nil, nil)
	if err != nil {
		return err
	}
	err = do(instance)
	r.models(instance.Models())
	if n := instance.Skipped(); n > 0 {
		r.out.Say("%d searches went without a part of recall", n)
		r.about("skipped", n)
	}
	return errors.Join(err, instance.Close())
}

// fit says what the weights of the ranking should be, with the embedder in use.
func (r *run) fit(ctx context.Context, set eval.Dataset) (err error) {
	if _, err := r.config.ForBench(nil); err != nil { // it names a server
		return err
	}
	opened, err := models.OpenEmbedder(ctx, r.config)
	if err != nil {
		return err
	}
	d := &eval.Direct{Embedder: opened.Embedder}
	d.Options.Background = opened.Background()
	defer func() { err = errors.Join(err, d.Close(), opened.Close()) }()
	examples, err := eval.Examples(ctx, d, set)
	if err != nil {
		return err
	}
	r.models(eval.ModelsOf(opened.Config))
	return r.out.Rows(eval.FitRows(examples, r.config.Recall.VectorWeight)...)
}

func chatCommand() *cobra.Command {
	r := &run{}
	var facts string
	cmd := r.command("chat", "Measure whether what a message needs reaches the prompt of a chat",
		cobra.NoArgs, func(cmd *cobra.Command, _ []string) (err error) {
			switch {
			case facts != eval.FactsByRules && facts != eval.FactsGiven:
				return memory.Errorf(memory.Invalid, "--facts: %q is not possible; valid: rules, given", facts)
			case r.show && r.heldBack:
				return memory.Errorf(memory.Invalid, "--show: nobody is to know messages of the half held back")
			}
			persons, err := eval.OpenChat(r.set, r.heldBack)
			if err != nil {
				return err
			}
			cosine, err := r.openCosine(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, cosine.Close()) }()
			o := eval.ChatOptions{Config: r.config, Facts: facts, Cosine: cosine.Embedder}
			report, err := eval.Chat(cmd.Context(), persons, o)
			if err != nil {
				return err
			}
			return r.chats(report, persons, facts)
		})
	r.setFlags(cmd, "bench/eval/testdata/chat-recall", "folder of the trial sets")
	f := cmd.Flags()
	f.BoolVar(&r.heldBack, "held-back", false, "the half that nothing is tuned on")
	f.StringVar(&facts, "facts", eval.FactsByRules, "where facts come from: rules (learned) or given (the set's own)")
	f.BoolVar(&r.show, "show", false, "list the messages that were not answered, and the unrelated ones with memory")
	return cmd
}

// chats prints what trial sets gave, in JSON for each person, too.
func (r *run) chats(report eval.ChatReport, persons []eval.ChatPerson, facts string) error {
	r.about("facts", facts)
	r.models(report.Models)
	r.out.Say("%d people; facts: %s; top_k %d", len(persons), facts, report.TopK)
	if err := r.out.Rows(report.Rows("")...); err != nil {
		return err
	}
	for _, p := range persons {
		if r.json {
			if err := r.out.Rows(report.Rows(p.ID)...); err != nil {
				return err
			}
		}
	}
	for _, line := range report.Missed {
		if r.show {
			r.out.Say("missed: %s", line)
		}
	}
	return nil
}

// openCosine opens the embedder that plain cosine is measured with: that of the settings, if it is a
// model. Words alone have none.
func (r *run) openCosine(ctx context.Context) (*models.Models, error) {
	opened, err := models.OpenEmbedder(ctx, r.config)
	if err == nil && opened.Config.Embedder == config.Lexical {
		err = opened.Close()
		opened.Embedder = nil
	}
	return opened, err
}

func learnCommand() *cobra.Command {
	r := &run{}
	var model string
	cmd := r.command("learn FILE...", "Measure what is learned from talk, by rules or a real model",
		cobra.MinimumNArgs(1), func(cmd *cobra.Command, files []string) error {
			if (r.url == "") != (model == "") {
				return memory.Errorf(memory.Invalid, "--url and --model go together")
			}
			lessons, err := eval.OpenLearn(r.set, r.limit, files...)
			if err != nil {
				return err
			}
			if model != "" {
				u := eval.LearnEstimate(lessons)
				cmd.PrintErrf("%s is asked about %d times: %d tokens in and %d out, cost %.2f\n",
					model, u.Calls, u.Input, u.Output, r.prices.Cost(u))
			}
			o := eval.LearnOptions{Config: r.config, URL: r.url, Key: r.key, Model: model}
			report, err := eval.Learned(cmd.Context(), lessons, o)
			if err != nil {
				return err
			}
			r.about("set", r.set)
			r.models(report.Models)
			r.out.Say("%d lessons; in brackets: 95 %% intervals, lessons resampled", len(lessons))
			err = r.out.Rows(report.Rows(r.prices)...)
			for _, l := range report.Lessons {
				if r.show {
					r.out.Say("\n%s\n  %s", l.Name, strings.Join(l.Shown, "\n  "))
				}
			}
			return err
		})
	r.setFlags(cmd, "jsonl", "the data set's format: "+strings.Join(eval.LearnFormats(), ", "))
	r.modelFlags(cmd, "LOCI_LEARN_KEY")
	f := cmd.Flags()
	f.IntVar(&r.limit, "limit", 0, "only the first so many lessons")
	f.StringVar(&model, "model", "", "model that learns; the built-in rules without")
	f.BoolVar(&r.show, "show", false, "list what was missed, what is junk, and why learning was given up")
	return cmd
}

// qa is what one run of the command is asked for.
type qa struct {
	run
	budgets       []int
	answer, judge string // models
	rows          string // file of answers
	dry           bool
}

func qaCommand() *cobra.Command {
	q := &qa{}
	cmd := q.command("qa FILE...", "Measure what a context of so many tokens holds, and what a model answers from it",
		cobra.MinimumNArgs(1), q.measure)
	q.setFlags(cmd, "locomo", "the data set's format: "+strings.Join(eval.Formats(), ", "))
	q.modelFlags(cmd, "LOCI_QA_KEY")
	f := cmd.Flags()
	f.BoolVar(&q.heldBack, "held-back", false, "the half of LoCoMo that nothing is tuned on")
	f.IntVar(&q.limit, "limit", 0, "only the first so many conversations")
	f.IntSliceVar(&q.budgets, "budget", []int{250, 700, 1500, 5000}, "tokens of context")
	f.StringVar(&q.answer, "answer-model", "", "model that answers")
	f.StringVar(&q.judge, "judge-model", "", "model that judges (the one that answers unless given)")
	f.StringVar(&q.rows, "out", "", "`file` of the rows; a run goes on with what it has")
	f.BoolVar(&q.dry, "dry-run", false, "only say how many calls and tokens it will take, and what they cost")
	return cmd
}

func (q *qa) measure(cmd *cobra.Command, files []string) error {
	switch {
	case len(q.budgets) == 0 || slices.Min(q.budgets) < 1:
		return memory.Errorf(memory.Invalid, "--budget: tokens are above 0 (example: 250,700)")
	case q.answer == "" && (q.judge != "" || q.url != "" || q.dry || q.rows != ""):
		return memory.Errorf(memory.Invalid, "--judge-model, --url, --dry-run and --out go with --answer-model")
	case q.answer != "" && q.rows == "":
		return memory.Errorf(memory.Invalid, "--out: name a file for the rows, so that no answer is paid for twice")
	}
	q.judge = cmp.Or(q.judge, q.answer)
	set, err := eval.Open(q.set, 0, files...)
	if err == nil {
		set, err = set.Half(q.heldBack, q.limit)
	}
	if err != nil {
		return err
	}
	q.about("set", set.Name)
	q.about("held_back", q.heldBack)
	var tasks []eval.QATask
	err = q.server(cmd.Context(), func(target *eval.Instance) (err error) {
		m := target.Models()
		key := eval.QAKey{Embedder: m.Embedder, Reranker: m.Reranker, AnswerModel: q.answer, JudgeModel: q.judge}
		tasks, err = eval.Retrieve(cmd.Context(), set, target, key, q.budgets)
		return err
	})
	if err != nil {
		return err
	}
	var rows []eval.QARow
	if q.answer == "" {
		for _, t := range tasks {
			rows = append(rows, t.Row)
		}
	} else if rows, err = q.ask(cmd, tasks); err != nil || q.dry {
		return err
	}
	q.out.Say("%s, %d conversations, held back: %v; in brackets: 95 %% intervals",
		set.Name, len(set.Conversations), q.heldBack)
	return q.out.Rows(eval.QARows(rows, q.answer != "", q.budgets)...)
}

// ask has models answer what is not answered yet, and returns all rows.
func (q *qa) ask(cmd *cobra.Command, tasks []eval.QATask) ([]eval.QARow, error) {
	// Waiting out a limit of so many tokens a minute takes more tries than a chat may.
	o := llm.Options{BaseURL: q.url, Key: q.key, Model: q.answer, Timeout: llm.DefaultTimeout}
	o.Patience, o.Tries = 10*time.Minute, 8
	answer, err := llm.New(o)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "--url: %v", err)
	}
	defer answer.Close()
	o.Model = q.judge
	judge, err := llm.New(o)
	if err != nil {
		return nil, err
	}
	defer judge.Close()
	reader := eval.Reader{Answer: answer, Judge: judge, Prices: q.prices, Out: q.rows, Workers: 4}
	rows, left, err := reader.Have(tasks)
	if err != nil {
		return nil, err
	}
	u := reader.Estimate(left)
	cmd.PrintErrf("%d questions to ask, %d are answered already: about %d calls, %d tokens in and %d out, cost %.2f\n",
		len(left), len(rows), u.Calls, u.Input, u.Output, q.prices.Cost(u))
	if q.dry {
		return nil, nil
	}
	more, err := reader.Ask(cmd.Context(), left)
	return append(rows, more...), err
}
