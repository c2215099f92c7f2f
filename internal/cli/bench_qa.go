package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/bench"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

const qaHelp = `Find what a question needs and fill a context of so many tokens with it. Without a model that is measured alone: the share of the
evidence in the context, of Loci (by way of /api/memory/search), of BM25 and, where an embedder is at hand, of plain cosine. All
get the same turns, one by one, and the same lines: date, speaker, words. The best that fit are taken, and stand in the order
in which they were said. Loci keeps the turns word for word; no model is asked while it does.

With --answer-model a model answers from the context and another judges the answer, on any OpenAI-compatible server:
  evidence              share of the evidence in the context
  accuracy              share of the answers that the judge finds right, of questions that have one
  refused               share of those for which the model said that it does not know, which is wrong
  unanswerable refused  share of the questions without an answer (category 5 of LoCoMo, _abs of LongMemEval) for which it
                        said so, which is right
  failed                share of the questions without a verdict; they count nowhere else

Keys come from LOCI_QA_KEY and, for --judge-url, LOCI_QA_JUDGE_KEY. Without --url the upstream of your settings is asked.
Every row is written to --out at once: question, answer, response, score, tokens, latency, cost. A question that is there is not
asked again unless it failed, so a run that ended early goes on with the same command. --dry-run says first what it will take.

Of LoCoMo the development half is asked: nothing may be tuned on the other, which --held-back asks.
In brackets stands the 95 % bootstrap interval. Formats are those of loci bench retrieval; an answer model needs the "answer" of
each question, which jsonl takes, too. Nothing of your own memory is touched.`

// qaRun is what one run of the command is asked for.
type qaRun struct {
	config                config.Config
	format, svg, out      string
	limit, workers        int
	budgets               []int
	systems               []string
	heldBack, json, dry   bool
	answer, judge         string // models
	prices                bench.Prices
	url, judgeURL, cosine string
	timeout               time.Duration
}

func benchQA(g *global) *cobra.Command {
	var r qaRun
	cmd := &cobra.Command{
		Use:   "qa FILE...",
		Short: "Measure what a context of so many tokens holds, and what a model answers from it",
		Long:  qaHelp,
		Example: "  loci bench qa --svg evidence.svg locomo10.json\n" +
			"  loci bench qa --answer-model gpt-4.1-mini --url https://api.openai.com/v1 --input-price 0.4 --output-price 1.6 --out rows.jsonl --dry-run locomo10.json\n" +
			"  loci bench qa --answer-model qwen3:8b --url http://localhost:11434/v1 --budget 700 --system loci,bm25 --out rows.jsonl --set jsonl mine.jsonl",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) (err error) {
			if err := g.noServer(cmd); err != nil {
				return err
			}
			if r.config, err = g.loadChosen(cmd); err != nil {
				return err
			}
			return r.run(cmd, files)
		},
	}
	f := cmd.Flags()
	setOr(g, cmd, &r.format, "locomo", "the data set's format: "+strings.Join(bench.Formats, ", "))
	f.BoolVar(&r.heldBack, "held-back", false, "the half of LoCoMo that nothing is tuned on")
	f.IntVar(&r.limit, "limit", 0, "only the first so many conversations")
	f.IntSliceVar(&r.budgets, "budget", bench.QABudgets, "tokens of context")
	f.StringSliceVar(&r.systems, "system", nil, "what retrieves: loci, bm25, cosine (all that are at hand unless given; with a model loci)")
	f.BoolVar(&r.json, "json", false, "print a JSON row for every measure")
	f.StringVar(&r.svg, "svg", "", "draw the figures over the tokens into this `file`")
	f.StringVar(&r.answer, "answer-model", "", "model that answers")
	f.StringVar(&r.judge, "judge-model", "", "model that judges (the one that answers unless given)")
	f.StringVar(&r.url, "url", "", "base URL of the OpenAI-compatible server that has them")
	f.StringVar(&r.judgeURL, "judge-url", "", "that of the one which judges, if it is another")
	f.Float64Var(&r.prices.Input, "input-price", 0, "what a million tokens cost that a model reads")
	f.Float64Var(&r.prices.Output, "output-price", 0, "and those that it writes")
	f.StringVar(&r.out, "out", "", "`file` of the rows; a run goes on with what it has")
	f.BoolVar(&r.dry, "dry-run", false, "only say how many calls and tokens it will take, and what they cost")
	f.IntVar(&r.workers, "workers", 4, "questions that models are asked at once")
	f.DurationVar(&r.timeout, "timeout", llm.DefaultTimeout, "how long a model may take for one reply")
	return cmd
}

func (r *qaRun) check() error {
	models := r.answer != ""
	switch {
	case r.limit < 0, r.workers < 1, r.timeout <= 0:
		return memory.Errorf(memory.Invalid, "--limit is not below 0, --workers not below 1, --timeout above 0")
	case len(r.budgets) == 0 || slices.Min(r.budgets) < 1:
		return memory.Errorf(memory.Invalid, "--budget: tokens are above 0 (example: 250,700)")
	case min(r.prices.Input, r.prices.Output) < 0:
		return memory.Errorf(memory.Invalid, "prices are not below 0")
	case !models && (r.judge != "" || r.url != "" || r.judgeURL != "" || r.out != "" || r.dry):
		return memory.Errorf(memory.Invalid, "--judge-model, --url, --judge-url, --out and --dry-run go with --answer-model")
	case models && r.out == "" && !r.dry:
		return memory.Errorf(memory.Invalid, "--out: name a file for the rows, so that no answer is paid for twice (example: --out rows.jsonl)")
	}
	for _, s := range r.systems {
		if !slices.Contains(bench.QASystems, s) {
			return memory.Errorf(memory.Invalid, "--system: %q is not possible; valid: %s", s, strings.Join(bench.QASystems, ", "))
		}
	}
	slices.Sort(r.budgets)
	r.budgets = slices.Compact(r.budgets)
	if models && len(r.systems) == 0 {
		r.systems = []string{bench.QALoci}
	}
	return nil
}

func (r *qaRun) run(cmd *cobra.Command, files []string) error {
	if err := r.check(); err != nil {
		return err
	}
	set, err := bench.OpenQA(r.format, r.heldBack, r.limit, files...)
	if err != nil {
		return err
	}
	report := bench.QAReport{Dataset: r.named(), Models: modelsOf(r.config), Version: loci.Version()}
	o := bench.AskOptions{Models: report.Models, Version: report.Version, Workers: r.workers}
	if r.answer != "" {
		end, err := r.models(&o)
		if err != nil {
			return err
		}
		defer end()
	}
	tasks, skipped, err := r.retrieve(cmd.Context(), set)
	if err != nil {
		return err
	}
	report.Skipped = skipped
	if r.answer != "" {
		report.AnswerModel, report.JudgeModel = r.answer, r.judge
		if report.Rows, err = r.ask(cmd, tasks, o); err != nil || r.dry {
			return err
		}
	} else {
		for _, t := range tasks {
			report.Rows = append(report.Rows, t.Row)
		}
	}
	return r.print(cmd, report)
}

// named is the data set and its half.
func (r *qaRun) named() string {
	switch {
	case r.format != "locomo":
		return r.format
	case r.heldBack:
		return "locomo, half held back"
	}
	return "locomo, development half"
}

// retrieve has the systems that are asked for, and at hand, fill contexts.
func (r *qaRun) retrieve(ctx context.Context, set bench.Dataset) (tasks []bench.QATask, skipped int, err error) {
	wanted := func(system string) bool { return len(r.systems) == 0 || slices.Contains(r.systems, system) }
	o := bench.QAOptions{Budgets: r.budgets, Targets: map[string]bench.Target{}}
	if wanted(bench.QABM25) {
		o.Targets[bench.QABM25] = &bench.Rival{}
	}
	if wanted(bench.QACosine) {
		name, e, end, openErr := openCosine(ctx, r.config)
		switch {
		case openErr != nil:
			return nil, 0, openErr
		case name == "" && len(r.systems) > 0:
			return nil, 0, memory.Errorf(memory.Invalid, "--system: %s", noCosine)
		case name != "":
			o.Targets[bench.QACosine] = &bench.Rival{Embedder: e}
		}
		defer func() { err = errors.Join(err, end()) }()
		r.cosine = name
	}
	if !wanted(bench.QALoci) {
		tasks, err = bench.Retrieve(ctx, set, o)
		return tasks, 0, err
	}
	err = withTarget(ctx, r.config, func(ctx context.Context, target *bench.Server) error {
		o.Targets[bench.QALoci] = target
		tasks, err = bench.Retrieve(ctx, set, o)
		skipped = target.Skipped()
		return err
	})
	return tasks, skipped, err
}

// models opens the models that answer and judge.
func (r *qaRun) models(o *bench.AskOptions) (end func(), err error) {
	url, key := r.url, os.Getenv("LOCI_QA_KEY")
	if url == "" {
		if url = r.config.Upstream.URL; key == "" {
			key = r.config.Upstream.Key
		}
	}
	if url == "" {
		return nil, memory.Errorf(memory.Invalid, "--url: name the server that has %s (example: http://localhost:11434/v1)", r.answer)
	}
	if r.judge == "" {
		r.judge = r.answer
	}
	judgeURL, judgeKey := url, key
	if r.judgeURL != "" { // a key is for one server
		judgeURL, judgeKey = r.judgeURL, os.Getenv("LOCI_QA_JUDGE_KEY")
	}
	// Waiting out a limit of so many tokens a minute takes more tries than a chat may.
	patient := llm.Options{BaseURL: url, Key: key, Model: r.answer, Timeout: r.timeout, Patience: 10*time.Minute + r.timeout, Tries: 8}
	answer, err := llm.New(patient)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	patient.BaseURL, patient.Key, patient.Model = judgeURL, judgeKey, r.judge
	judge, err := llm.New(patient)
	if err != nil {
		return nil, fmt.Errorf("--judge-url: %w", err)
	}
	o.Answer, o.Judge, o.AnswerModel, o.JudgeModel, o.Prices = answer, judge, r.answer, r.judge, r.prices
	return func() { answer.Close(); judge.Close() }, nil
}

// ask has models answer what is not answered yet, and returns all rows.
func (r *qaRun) ask(cmd *cobra.Command, tasks []bench.QATask, o bench.AskOptions) (rows []bench.QARow, err error) {
	if r.dry {
		o.Have, err = bench.ReadQARows(r.out)
	} else {
		var file *bench.QARows
		if file, o.Have, err = bench.OpenQARows(r.out); err == nil {
			defer func() { err = errors.Join(err, file.Close()) }()
			o.Keep = file.Add
		}
	}
	if err != nil {
		return nil, err
	}
	rows, open, err := o.Prepared(tasks)
	if err != nil {
		return nil, err
	}
	e, cost := o.Estimate(tasks, open)
	w := cmd.ErrOrStderr()
	if r.dry {
		w = cmd.OutOrStdout()
	}
	fmt.Fprintf(w, "%d questions to ask, %d are answered already: about %d calls, %d tokens in and %d out, cost %.2f by the prices given\n",
		len(open), len(rows)-len(open), e.Calls, e.Input, e.Output, cost)
	if r.dry {
		return nil, nil
	}
	bar := &progress{w: w, live: w == os.Stderr && isTerminal(os.Stderr)}
	o.Progress = func(done int) {
		bar.at("asked", int64(done), int64(len(open)), func(n int64) string { return fmt.Sprint(n) })
	}
	err = bench.Ask(cmd.Context(), tasks, rows, open, o)
	bar.end()
	if err != nil {
		return nil, fmt.Errorf("%w; what was answered is in %s, and the same command goes on from there", err, r.out)
	}
	return rows, nil
}

func (r *qaRun) print(cmd *cobra.Command, report bench.QAReport) error {
	if r.svg != "" {
		f, err := os.Create(r.svg)
		if err != nil {
			return fmt.Errorf("draw: %w", err)
		}
		if err := errors.Join(report.WriteSVG(f), f.Close()); err != nil {
			return fmt.Errorf("draw: %w", err)
		}
	}
	if r.json {
		return printRows(cmd.OutOrStdout(), report.Figures())
	}
	fmt.Fprint(cmd.OutOrStdout(), report)
	if len(r.systems) == 0 || slices.Contains(r.systems, bench.QACosine) {
		if r.cosine == "" {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", noCosine)
		} else {
			fmt.Fprintf(cmd.OutOrStdout(), "\nplain cosine by %s\n", r.cosine)
		}
	}
	return nil
}
