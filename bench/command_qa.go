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

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/models"
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

Keys come from --key or LOCI_QA_KEY and, for --judge-url, LOCI_QA_JUDGE_KEY. Without --url the upstream of your settings is
asked. Every row is written to --out at once: question, answer, response, score, tokens, latency, cost. A question that is there
is not asked again unless it failed, so a run that ended early goes on with the same command. --dry-run says first what it will
take. Without a model, --out gets the evidence of each question.

--compare says what changed since the run that wrote a file by --out, on the questions of both, system by system and budget by
budget: the evidence, and answers that the same model judged. Of a question that is there twice, the last row counts.

Of LoCoMo the development half is asked: nothing may be tuned on the other, which --held-back asks.
In brackets stands the 95 % bootstrap interval. Formats are those of locibench retrieval; an answer model needs the "answer" of
each question, which jsonl takes, too. Nothing of your own memory is touched.`

// qaRun is what one run of the command is asked for.
type qaRun struct {
	config              config.Config
	format              string
	out, compare        string // files of rows
	limit, workers      int
	budgets             []int
	systems             []string
	heldBack, json, dry bool
	answer, judge       string // models
	server              modelServer
	cosine              *models.Models // by which cosine was measured; nil: none is at hand
	judgeURL            string
	timeout             time.Duration
}

func benchQA(g *global) *cobra.Command {
	var r qaRun
	cmd := &cobra.Command{
		Use:   "qa FILE...",
		Short: "Measure what a context of so many tokens holds, and what a model answers from it",
		Long:  qaHelp,
		Example: "  locibench qa --out before.jsonl locomo10.json\n" +
			"  locibench qa --compare before.jsonl locomo10.json\n" +
			"  locibench qa --answer-model gpt-4.1-mini --url https://api.openai.com/v1 --input-price 0.4 --output-price 1.6 --out rows.jsonl --dry-run locomo10.json\n" +
			"  locibench qa --answer-model qwen3:8b --url http://localhost:11434/v1 --budget 700 --system loci,bm25 --out rows.jsonl --set jsonl mine.jsonl",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) (err error) {
			if r.config, err = g.load(); err != nil {
				return err
			}
			return r.run(cmd, files)
		},
	}
	f := cmd.Flags()
	setOr(g, cmd, &r.format, "locomo", "the data set's format: "+strings.Join(eval.Formats, ", "))
	f.BoolVar(&r.heldBack, "held-back", false, "the half of LoCoMo that nothing is tuned on")
	f.IntVar(&r.limit, "limit", 0, "only the first so many conversations")
	f.IntSliceVar(&r.budgets, "budget", eval.QABudgets, "tokens of context")
	f.StringSliceVar(&r.systems, "system", nil, "what retrieves: loci, bm25, cosine (all that are at hand unless given; with a model loci)")
	f.BoolVar(&r.json, "json", false, "print a JSON row for every measure")
	f.StringVar(&r.answer, "answer-model", "", "model that answers")
	f.StringVar(&r.judge, "judge-model", "", "model that judges (the one that answers unless given)")
	r.server.flags(cmd, "has them", "LOCI_QA_KEY")
	f.StringVar(&r.judgeURL, "judge-url", "", "that of the one which judges, if it is another")
	f.StringVar(&r.out, "out", "", "`file` of the rows; a run goes on with what it has")
	f.StringVar(&r.compare, "compare", "", "print what changed since the run that wrote this `file` by --out")
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
	case !models && (r.judge != "" || r.server.url != "" || r.judgeURL != "" || r.dry):
		return memory.Errorf(memory.Invalid, "--judge-model, --url, --judge-url and --dry-run go with --answer-model")
	case models && r.out == "" && !r.dry:
		return memory.Errorf(memory.Invalid, "--out: name a file for the rows, so that no answer is paid for twice (example: --out rows.jsonl)")
	}
	for _, s := range r.systems {
		if !slices.Contains(eval.QASystems, s) {
			return memory.Errorf(memory.Invalid, "--system: %q is not possible; valid: %s", s, strings.Join(eval.QASystems, ", "))
		}
	}
	slices.Sort(r.budgets)
	r.budgets = slices.Compact(r.budgets)
	if models && len(r.systems) == 0 {
		r.systems = []string{eval.QALoci}
	}
	return r.server.check()
}

func (r *qaRun) run(cmd *cobra.Command, files []string) error {
	if err := r.check(); err != nil {
		return err
	}
	earlier, err := r.earlier() // before the measuring, so that a wrong name does not cost it
	if err != nil {
		return err
	}
	set, err := eval.OpenQA(r.format, r.heldBack, r.limit, files...)
	if err != nil {
		return err
	}
	o := eval.AskOptions{Version: loci.Version(), Workers: r.workers}
	if r.answer != "" {
		end, err := r.models(&o)
		if err != nil {
			return err
		}
		defer end()
	}
	report := eval.QAReport{Dataset: r.named(), Version: o.Version, AnswerModel: r.answer, JudgeModel: r.judge}
	tasks, err := r.retrieve(cmd.Context(), set, &report)
	if err != nil {
		return err
	}
	o.Models = report.Models
	if report.Rows, err = r.rows(cmd, tasks, o); err != nil || r.dry {
		return err
	}
	var differences []eval.QADifference
	if r.compare != "" {
		if differences, err = report.Compare(earlier, r.compare); err != nil {
			return fmt.Errorf("compare with %s: %w", r.compare, err)
		}
	}
	return r.print(cmd, report, differences)
}

// earlier returns the rows of the run to compare with, none if there is none.
func (r *qaRun) earlier() ([]eval.QARow, error) {
	if r.compare == "" {
		return nil, nil
	}
	rows, err := eval.ReadQARows(r.compare)
	if err == nil && len(rows) == 0 {
		err = memory.Errorf(memory.Invalid, "--compare: %s has no rows; locibench qa --out writes them", r.compare)
	}
	return rows, err
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

// retrieve has the systems that are asked for, and at hand, fill contexts. The report is told what
// they use.
func (r *qaRun) retrieve(ctx context.Context, set eval.Dataset, report *eval.QAReport) (tasks []eval.QATask, err error) {
	wanted := func(system string) bool { return len(r.systems) == 0 || slices.Contains(r.systems, system) }
	o := eval.QAOptions{Budgets: r.budgets, Targets: map[string]eval.Target{}}
	if wanted(eval.QABM25) {
		o.Targets[eval.QABM25] = &eval.Rival{}
	}
	if wanted(eval.QACosine) {
		cosine, err := openCosine(ctx, r.config)
		if err != nil {
			return nil, err
		}
		if cosine != nil {
			defer func() { err = errors.Join(err, cosine.Close()) }()
			r.cosine, o.Targets[eval.QACosine] = cosine, &eval.Rival{Embedder: cosine.Embedder}
			report.Models.Embedder = cosine.Config.Embedder
		} else if len(r.systems) > 0 {
			return nil, memory.Errorf(memory.Invalid, "--system: %s", noCosine)
		}
	}
	if !wanted(eval.QALoci) {
		return eval.Retrieve(ctx, set, o)
	}
	err = withTarget(ctx, r.config, func(ctx context.Context, target *eval.Server) error {
		o.Targets[eval.QALoci] = target
		tasks, err = eval.Retrieve(ctx, set, o)
		report.Models, report.Skipped = target.Models, target.Skipped()
		return err
	})
	return tasks, err
}

// models opens the models that answer and judge.
func (r *qaRun) models(o *eval.AskOptions) (end func(), err error) {
	url, key := r.server.url, cmp.Or(r.server.key, os.Getenv("LOCI_QA_KEY"))
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
	o.Answer, o.Judge, o.AnswerModel, o.JudgeModel, o.Prices = answer, judge, r.answer, r.judge, r.server.prices
	return func() { answer.Close(); judge.Close() }, nil
}

// rows returns a row for each task, which is kept where --out says so. Models answer what is not
// answered yet.
func (r *qaRun) rows(cmd *cobra.Command, tasks []eval.QATask, o eval.AskOptions) (rows []eval.QARow, err error) {
	if r.dry {
		o.Have, err = eval.ReadQARows(r.out)
	} else if r.out != "" {
		var file *eval.QARows
		if file, o.Have, err = eval.OpenQARows(r.out); err == nil {
			defer func() { err = errors.Join(err, file.Close()) }()
			o.Keep = file.Add
		}
	}
	if err != nil {
		return nil, err
	}
	if r.answer == "" {
		return o.Evidence(tasks)
	}
	return r.ask(cmd, tasks, o)
}

// ask has models answer what is not answered yet, and returns all rows.
func (r *qaRun) ask(cmd *cobra.Command, tasks []eval.QATask, o eval.AskOptions) ([]eval.QARow, error) {
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
	if err := eval.Ask(cmd.Context(), tasks, rows, open, o); err != nil {
		return nil, fmt.Errorf("%w; what was answered is in %s, and the same command goes on from there", err, r.out)
	}
	return rows, nil
}

func (r *qaRun) print(cmd *cobra.Command, report eval.QAReport, differences []eval.QADifference) error {
	if r.json {
		figures := report.Figures()
		for _, d := range differences {
			figures = append(figures, d.QAFigure)
		}
		return printRows(cmd.OutOrStdout(), figures)
	}
	fmt.Fprint(cmd.OutOrStdout(), report)
	if len(r.systems) == 0 || slices.Contains(r.systems, eval.QACosine) {
		printCosine(cmd.OutOrStdout(), r.cosine)
	}
	printDifferences(cmd.OutOrStdout(), differences, r.compare)
	return nil
}
