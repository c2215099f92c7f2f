package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/memory"
)

const retrievalHelp = `Keep the conversations of a data set word for word, ask every question once through /api/memory/search, and score where the
gold evidence stands, turn by turn and session by session (a session stands where its best turn does):

  any@k, all@k, fraction@k   some, all, or what share of the gold is among the first k (5, 10, 20, 50)
  mrr@20                     1 over the rank of the first gold among the first 20
  ndcg@10                    gain of the gold among the first 10, by that of an ideal list
  AUC                        how well the best score tells answerable questions from others
  precision, recall          of abstaining, that is of finding nothing, at the server's own threshold

The others are questions put to another conversation, and those that the data set itself calls unanswerable (category 5 of
LoCoMo, abstention of BEAM, _abs of LongMemEval). Every conversation is a user of its own, or all are one with --pooled. In
brackets stands the 95 % bootstrap interval. Nothing of your own memory is touched.

The embedder, the reranker and the settings of recall are your own (--set key=value, LOCI_ variables, --config). Unless
recall.deadline is set, recall may take 10 seconds.

--fit asks instead what weight the vectors of your embedder deserve beside the words: each weight is chosen by
some of the conversations and judged by the others. It works without server and HTTP.

Formats (a name ending in .gz is unpacked):
  locomo        JSON list, as published
  longmemeval   JSON list, as published; every question has a memory of its own
  beam          JSON lines, a chat each
  realmem       a JSON file for each persona
  jsonl         your own: JSON lines of turns and questions. Of a turn, id and content are needed; of a question, its text
                and gold (ids of turns), gold_sessions or unanswerable; answer is for locibench qa. With before (the id of a
                turn) it is asked when only what stands above that turn is known. One conversation and session if you name none.

  {"type":"turn","conversation":"c1","session":"s1","id":"t1","role":"user","name":"Mira","content":"I row.","at":"2024-03-03T07:05:00Z"}
  {"type":"question","conversation":"c1","id":"q1","question":"What does Mira do?","category":"hobbies","gold":["t1"]}
  {"type":"question","conversation":"c1","question":"What does Mira drive?","unanswerable":true}`

// retrievalRun is what one run of the command is asked for.
type retrievalRun struct {
	config             config.Config
	format             string
	limit              int
	options            eval.RetrievalOptions
	direct, json, fit  bool
	questions, compare string
}

func benchRetrieval(g *global) *cobra.Command {
	var r retrievalRun
	cmd := &cobra.Command{
		Use:   "retrieval --set FORMAT FILE...",
		Short: "Measure how well memory finds what was said, on public data sets or your own",
		Long:  retrievalHelp,
		Example: "  locibench retrieval --set locomo locomo10.json\n" +
			"  locibench retrieval --set locomo --questions before.jsonl locomo10.json\n" +
			"  locibench retrieval --set locomo --pooled --compare before.jsonl locomo10.json\n" +
			"  locibench retrieval --set jsonl --json mine.jsonl\n" +
			"  LOCI_EMBEDDER=local:all-MiniLM-L6-v2 locibench retrieval --fit --set jsonl mine.jsonl",
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
	f.BoolVar(&r.options.Pooled, "pooled", false, "all conversations in one memory")
	f.BoolVar(&r.direct, "direct", false, "index and ranking alone, without server and HTTP")
	f.IntVar(&r.limit, "limit", 0, "only the first so many conversations")
	f.IntVar(&r.options.Workers, "workers", 0, "conversations at once; figures do not depend on it")
	f.BoolVar(&r.json, "json", false, "print a JSON row for every measure")
	f.BoolVar(&r.fit, "fit", false, "say what the vectors of the embedder deserve to weigh")
	f.StringVar(&r.questions, "questions", "", "write where the gold of each question stands, as JSON lines, to this `file`")
	f.StringVar(&r.compare, "compare", "", "print what changed since the run that wrote this `file` by --questions")
	return cmd
}

func (r retrievalRun) run(cmd *cobra.Command, files []string) error {
	if r.limit < 0 || r.options.Workers < 0 {
		return memory.Errorf(memory.Invalid, "--limit and --workers are not below 0")
	}
	// Before the measuring, so that a wrong name does not cost it.
	earlier, err := r.earlier()
	if err != nil {
		return err
	}
	set, err := eval.Open(r.format, r.limit, files...)
	if err != nil {
		return err
	}
	if r.fit {
		return r.fitVectors(cmd.Context(), cmd.OutOrStdout(), set)
	}
	report, err := r.measure(cmd.Context(), set)
	if err != nil {
		return err
	}
	if err := r.keep(report); err != nil {
		return err
	}
	var differences []eval.Difference
	if r.compare != "" {
		if differences, err = report.Compare(earlier, r.compare, loci.Version()); err != nil {
			return fmt.Errorf("compare with %s: %w", r.compare, err)
		}
	}
	return r.print(cmd.OutOrStdout(), report, differences)
}

func (r retrievalRun) measure(ctx context.Context, set eval.Dataset) (report eval.Report, err error) {
	if r.direct {
		d, opened, err := r.openDirect(ctx)
		if err != nil {
			return report, err
		}
		defer func() { err = errors.Join(err, d.Close(), opened.Close()) }()
		report, err = eval.Measured(ctx, d, set, r.options)
		report.Models = eval.ModelsOf(opened.Config)
		return report, err
	}
	err = withTarget(ctx, r.config, func(ctx context.Context, target *eval.Server) error {
		report, err = eval.Measured(ctx, target, set, r.options)
		report.Models, report.Skipped = target.Models, target.Skipped()
		return err
	})
	return report, err
}

// openDirect opens the index and the ranking with the embedder of the settings.
func (r retrievalRun) openDirect(ctx context.Context) (*eval.Direct, *models.Models, error) {
	if r.config.Reranker != "none" {
		return nil, nil, memory.Errorf(memory.Invalid, "reranker: without a server, as by --direct and --fit, Loci ranks without a reranker")
	}
	if _, err := r.config.ForBench(nil); err != nil { // it names a server
		return nil, nil, err
	}
	opened, err := models.OpenEmbedder(ctx, r.config)
	if err != nil {
		return nil, nil, err
	}
	d := &eval.Direct{Embedder: opened.Embedder}
	d.Options.Background, d.Options.VectorWeight = opened.Background(), &r.config.Recall.VectorWeight
	return d, opened, nil
}

// fitVectors says what the vectors of the embedder in use deserve to weigh.
func (r retrievalRun) fitVectors(ctx context.Context, w io.Writer, set eval.Dataset) (err error) {
	if r.json || r.questions != "" || r.compare != "" || r.options.Pooled {
		return memory.Errorf(memory.Invalid, "--fit goes with --set and --limit alone")
	}
	d, opened, err := r.openDirect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close(), opened.Close()) }()
	examples, err := eval.Examples(ctx, d, set)
	if err != nil {
		return err
	}
	fit, err := eval.FitVector(examples, r.config.Recall.VectorWeight)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s, embedder %s, reranker %s\n\n%s", set.Name, opened.Config.Embedder, opened.Config.Reranker, fit)
	return err
}

// earlier returns the questions of the run to compare with, none if there is none.
func (r retrievalRun) earlier() ([]eval.Outcome, error) {
	if r.compare == "" {
		return nil, nil
	}
	f, err := os.Open(r.compare)
	if err != nil {
		return nil, fmt.Errorf("open the run to compare with: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	out, err := eval.ReadOutcomes(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.compare, err)
	}
	return out, nil
}

// keep writes the questions one by one, if that is asked for.
func (r retrievalRun) keep(report eval.Report) error {
	if r.questions == "" {
		return nil
	}
	f, err := os.Create(r.questions)
	if err != nil {
		return fmt.Errorf("write questions: %w", err)
	}
	return errors.Join(report.WriteOutcomes(f), f.Close())
}

func (r retrievalRun) print(w io.Writer, report eval.Report, differences []eval.Difference) error {
	if !r.json {
		fmt.Fprint(w, report)
		printDifferences(w, differences, r.compare)
		return nil
	}
	figures := report.Figures(loci.Version())
	for _, d := range differences {
		figures = append(figures, d.Figure)
	}
	for i := range figures {
		figures[i].Direct = r.direct
	}
	return printRows(w, figures)
}
