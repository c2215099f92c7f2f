// Command locibench measures Loci: the quality of recall, of memory in chats, of learning and of answers by a model;
// and latency, throughput, start and size. It is a separate module, so that Loci does not link its dependencies.
package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench/eval"
	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "locibench:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "locibench", Short: "Measure how well and how fast Loci remembers",
		SilenceUsage: true, SilenceErrors: true,
	}
	cmd.AddCommand(retrievalCommand(), chatCommand(), learnCommand(), qaCommand(), loadCommand(), sizeCommand())
	return cmd
}

// helps are the long help texts of the commands.
//
//go:embed help
var helps embed.FS

// run has the output and the flags that several commands share.
type run struct {
	out    *report.Printer
	config config.Config // of the measured Loci

	json, heldBack, show bool
	limit                int
	set, file            string // format of a data set, or folder of trial sets; settings file
	url, key             string // of a model server
}

// command returns a command with the flag --json and a long text from help. do runs after the settings are loaded.
func (r *run) command(
	use, short string, args cobra.PositionalArgs, do func(*cobra.Command, []string) error,
) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	long, err := helps.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // every test builds all commands
	}
	cmd := &cobra.Command{Use: use, Short: short, Long: string(long), Args: args}
	cmd.Flags().BoolVar(&r.json, "json", false, "print a JSON line for every measure")
	cmd.RunE = func(cmd *cobra.Command, files []string) (err error) {
		if r.limit < 0 {
			return memory.Errorf(memory.Invalid, "--limit must be at least 0")
		}
		if r.json && r.show {
			return memory.Errorf(memory.Invalid, "--json prints only measures; omit --show")
		}
		if r.config, err = config.Load(config.Sources{Env: os.Environ(), File: r.file}); err != nil {
			return err
		}
		r.out = report.NewPrinter(cmd.OutOrStdout(), r.json)
		r.out.About("version", loci.Version())
		return do(cmd, files)
	}
	return cmd
}

// models prints the measured models.
func (r *run) models(m eval.Models) {
	r.out.Say("%s", m)
	r.out.About("embedder", m.Embedder)
	r.out.About("reranker", m.Reranker)
}

// setFlags adds the flags for the data set and the settings.
func (r *run) setFlags(cmd *cobra.Command, set, help string) {
	cmd.Flags().StringVar(&r.set, "set", set, help)
	cmd.Flags().StringVar(&r.file, "config", "", "settings file (YAML), in addition to LOCI_ variables")
}

// modelFlags adds the flags for a model server.
func (r *run) modelFlags(cmd *cobra.Command, variable string) {
	f := cmd.Flags()
	f.StringVar(&r.url, "url", "", "base URL of an OpenAI-compatible server with the model")
	f.StringVar(&r.key, "key", os.Getenv(variable), "key for the server, or variable "+variable)
	f.Lookup("key").DefValue = "" // keeps the key out of the help
}
