package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/memory"
)

const benchChatHelp = `Record the chats of invented people through the proxy, on a memory of its own, and then send each of their messages as the
first of a new chat, without recording it. What the upstream would get is searched for the answer.

  answer in the prompt   messages that need memory and get an answer in the block, bare and before or after other text
  lost                   of those answered bare, the most that one surrounding loses
  unrelated with memory  messages that need no memory and get some, bare and beside small talk, and how many hits each gets
  hits that help         share of hits that come from a gold exchange or fact, or hold an answer; the core is not counted
  core                   messages whose block begins with what stands, such as a diet or how to answer

Beside Loci, over the same turns and facts and with the same top_k: BM25 of a message's best clause, and plain cosine without
a threshold by the embedder of your settings or, for words alone, by all-MiniLM-L6-v2 where it is in models_dir or tmp/models.

The models and the settings of recall are your own. Unless recall.deadline is set, recall may take 10 seconds. Nothing of your
own memory is touched. The format of the sets is described in bench/eval/testdata/chat-recall/README.md.`

// chatTrials is what one run of the command is asked for.
type chatTrials struct {
	dir                  string
	facts                string
	heldBack, json, show bool
}

func benchChat(g *global) *cobra.Command {
	var r chatTrials
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Measure whether what a message needs reaches the prompt of a chat",
		Long:  benchChatHelp,
		Example: "  locibench chat\n  locibench chat --facts given --show\n" +
			"  LOCI_EMBEDDER=local:all-MiniLM-L6-v2 locibench chat --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.load()
			if err != nil {
				return err
			}
			return r.run(cmd, config)
		},
	}
	f := cmd.Flags()
	setOr(g, cmd, &r.dir, "bench/eval/testdata/chat-recall", "folder of the trial sets")
	f.BoolVar(&r.heldBack, "held-back", false, "the half that nothing is tuned on")
	f.StringVar(&r.facts, "facts", "rules", "where facts come from: rules (Loci learns them) or given (the set's own are added)")
	f.BoolVar(&r.json, "json", false, "print a JSON row for every measure")
	f.BoolVar(&r.show, "show", false, "list the messages of Loci that were not answered, and the unrelated ones with memory")
	return cmd
}

func (r chatTrials) run(cmd *cobra.Command, config config.Config) (err error) {
	facts := eval.ChatFacts(r.facts)
	switch {
	case facts != eval.FactsByRules && facts != eval.FactsGiven:
		return memory.Errorf(memory.Invalid, "--facts: %q is not possible; valid: rules, given", r.facts)
	case r.show && r.json:
		return memory.Errorf(memory.Invalid, "--json prints measures alone; leave out --show")
	case r.show && r.heldBack:
		return memory.Errorf(memory.Invalid, "--show lists messages, which are not to be known of the half held back")
	}
	persons, err := eval.OpenChat(r.dir, r.heldBack)
	if err != nil {
		return err
	}
	o := eval.ChatOptions{Config: config, Facts: facts}
	cosine, err := openCosine(cmd.Context(), config)
	if err != nil {
		return err
	}
	if cosine != nil {
		defer func() { err = errors.Join(err, cosine.Close()) }()
		o.Cosine = cosine.Embedder
	}
	report, err := eval.Chat(cmd.Context(), persons, o)
	if err != nil {
		return err
	}
	return r.print(cmd.OutOrStdout(), report, cosine)
}

// miniLM is the model that Loci is compared with.
const miniLM = "all-MiniLM-L6-v2"

// openCosine opens the embedder that plain cosine is measured with: that of the settings or, for
// words alone, [miniLM]; nil if that is not at hand.
func openCosine(ctx context.Context, c config.Config) (*models.Models, error) {
	opened, err := models.OpenEmbedder(ctx, c)
	if err != nil || opened.Config.Embedder != config.Lexical {
		return opened, err
	}
	dir, err := c.ModelsFolder()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{dir, filepath.Join("tmp", "models")} {
		if _, err := os.Stat(filepath.Join(dir, miniLM, "model.safetensors")); err == nil {
			c.Embedder, c.ModelsDir = "local:"+miniLM, dir
			return models.OpenEmbedder(ctx, c)
		}
	}
	return nil, nil
}

// noCosine is said where plain cosine was not measured.
const noCosine = "no plain cosine: " + miniLM + " is not in models_dir; loci models pull " + miniLM + " gets it"

// printCosine says by which embedder plain cosine was measured.
func printCosine(w io.Writer, cosine *models.Models) {
	if cosine == nil {
		fmt.Fprintf(w, "\n%s\n", noCosine)
	} else {
		fmt.Fprintf(w, "\nplain cosine by %s\n", cosine.Config.Embedder)
	}
}

func (r chatTrials) print(w io.Writer, report eval.ChatReport, cosine *models.Models) error {
	if r.json {
		return printRows(w, report.Figures(loci.Version()))
	}
	fmt.Fprint(w, report)
	printCosine(w, cosine)
	if !r.show {
		return nil
	}
	for _, o := range report.Missed() {
		what := "no answer"
		if o.Unrelated {
			what = "unrelated"
		}
		fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%s %s %s (%d hits) %s", what, o.Person, o.Message, o.Hits, o.Around)))
	}
	return nil
}
