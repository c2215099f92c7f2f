package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/memory"
)

const learnHelp = `Tell Loci what users said, message by message, on a memory of its own, and compare what it knows in the end with what it
should know. Each message of the user is kept with the answers that follow it and learned from before the next one comes, by the
built-in rules or by a model on any OpenAI-compatible server (--url, --model; its key by --key or LOCI_LEARN_KEY). What a model
will take is said first.

  precision    share of active facts that say the same as a gold fact that holds
  recall       share of gold facts that hold and that some active fact says
  superseded   share of gold replacements of which only the newer is active
  junk         active facts that say the same as no gold fact, per 100 turns of the user
  pending      facts that wait for a person, per 100 turns of the user
  wrong        share of active facts that say what a lesson lists as wrong, more than what is gold
  wrong subject  share of active facts that say a gold fact of somebody else; both are junk, too
  stale        share of active facts that say what was replaced
  duplicates   share of active facts that say the same as an earlier one in the same terms
  unsupported  share of active facts without a quote, or with names, numbers, most words or a denial that their turn has not

Two statements say the same if, of the terms of the shorter (words without endings and small words, and without "user"), the
longer has at least three fifths, and two; if the shorter one's names and numbers stand in the longer; and if both deny something
or neither does. Dates do not count. Precision by chance compares with another lesson's gold. In brackets stands the 95 % bootstrap
interval over lessons. The embedder and the reranker are those of your settings. Nothing of your own memory is touched.

Formats (a name ending in .gz is unpacked):
  jsonl     your own: a JSON object a line, of the talk of one user. Of a turn only content is needed; gold may name the
            place of its turn (from 0), a category, what it replaces (place or words of an earlier one), and a question by
            which the newer should be recalled, a word of whom it is about (subject, "user" for the user), and the same in other
            words (or); junk_ok are statements that count neither way, wrong such as must not be known; a category of the
            line itself groups precision
  locomo    observations; each conversation is told once by each speaker
  realmem   extracted memories, those of the user's turns
  beam      updates and contradictions: pairs of statements, and the questions about them

  {"id":"c1","turns":[{"role":"user","content":"I live in Oslo.","at":"2026-03-03T07:05:00Z"},{"role":"assistant","content":"Nice."},
   {"content":"I moved to Bergen."}],"gold":[{"text":"User lives in Oslo","turn":0},{"text":"User lives in Bergen","turn":2,"replaces":0}]}`

// learnRun is what one run of the command is asked for.
type learnRun struct {
	format     string
	limit      int
	options    eval.LearnOptions
	server     modelServer
	json, show bool
}

func benchLearn(g *global) *cobra.Command {
	var r learnRun
	cmd := &cobra.Command{
		Use:   "learn [--url URL --model NAME] FILE...",
		Short: "Measure what is learned from talk, by rules or a real model, on your own lines or public data sets",
		Long:  learnHelp,
		Example: "  locibench learn mine.jsonl\n" +
			"  locibench learn --url http://localhost:11434/v1 --model qwen3:8b --show mine.jsonl\n" +
			"  locibench learn --set locomo --limit 2 locomo10.json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			config, err := g.load()
			if err != nil {
				return err
			}
			r.options.Config = &config
			return r.run(cmd, files)
		},
	}
	f := cmd.Flags()
	setOr(g, cmd, &r.format, "jsonl", "the data set's format: "+strings.Join(eval.LearnFormats, ", "))
	f.IntVar(&r.limit, "limit", 0, "only the first so many lessons")
	r.server.flags(cmd, "learns; the built-in rules without", "LOCI_LEARN_KEY")
	f.StringVar(&r.options.Model, "model", "", "model of it that learns")
	f.BoolVar(&r.json, "json", false, "print a JSON row for every measure")
	f.BoolVar(&r.show, "show", false, "list what was missed, what is junk, and why learning was given up")
	return cmd
}

func (r learnRun) run(cmd *cobra.Command, files []string) error {
	switch {
	case r.limit < 0:
		return memory.Errorf(memory.Invalid, "--limit is not below 0")
	case (r.server.url == "") != (r.options.Model == ""):
		return memory.Errorf(memory.Invalid, "--url and --model go together")
	case r.json && r.show:
		return memory.Errorf(memory.Invalid, "--json prints measures alone; leave out --show")
	}
	if err := r.server.check(); err != nil {
		return err
	}
	r.options.URL, r.options.Key = r.server.url, cmp.Or(r.server.key, os.Getenv("LOCI_LEARN_KEY"))
	lessons, err := eval.OpenLearn(r.format, r.limit, files...)
	if err != nil {
		return err
	}
	if r.options.URL != "" {
		calls, input, output := eval.LearnEstimate(lessons)
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is asked about %d times: %d tokens in and %d out", r.options.Model, calls, input, output)
		if prices := r.server.prices; prices != (eval.Prices{}) {
			fmt.Fprintf(cmd.ErrOrStderr(), ", cost %.2f", prices.Cost(eval.Usage{Input: input, Output: output}))
		}
		fmt.Fprintln(cmd.ErrOrStderr())
	}
	report, err := eval.Learned(cmd.Context(), lessons, r.options)
	if err != nil {
		return err
	}
	return r.print(cmd.OutOrStdout(), report)
}

func (r learnRun) print(w io.Writer, report eval.LearnReport) error {
	if r.json {
		return printRows(w, report.Figures(r.server.prices, loci.Version()))
	}
	fmt.Fprint(w, report)
	if _, _, _, model := report.Total(); model.Calls > 0 && r.server.prices != (eval.Prices{}) {
		fmt.Fprintf(w, "cost %.4f\n", r.server.prices.Cost(model))
	}
	if !r.show {
		return nil
	}
	for _, l := range report.Lessons {
		fmt.Fprintf(w, "\n%s\n", l.Name)
		for _, s := range l.Shown {
			fmt.Fprintf(w, "  %s: %s\n", s.What, strings.Join(strings.Fields(s.Text), " "))
		}
		for _, why := range l.Failures {
			fmt.Fprintf(w, "  given up: %s\n", why)
		}
	}
	return nil
}
