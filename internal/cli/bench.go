package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/bench"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

func benchmark(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure how well Loci finds and learns"}
	cmd.AddCommand(benchRetrieval(g), benchLearn(g), benchChat(g), benchQA(g), movedBench("load"), movedBench("size"))
	return cmd
}

// movedBench is a command that locibench has instead.
func movedBench(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return memory.Errorf(memory.Invalid, "loci bench %s has moved to locibench, in the folder bench of Loci's source: go -C bench run . %s", name, name)
		},
	}
}

// modelServer is the server whose models are measured, and what they cost.
type modelServer struct {
	url, key string
	prices   bench.Prices
}

// flags adds those that name the server; without --key, its key is in a variable.
func (m *modelServer) flags(cmd *cobra.Command, does, variable string) {
	f := cmd.Flags()
	f.StringVar(&m.url, "url", "", "base URL of an OpenAI-compatible server that "+does)
	f.StringVar(&m.key, "key", "", "key for it ("+variable+" unless given)")
	f.Float64Var(&m.prices.Input, "input-price", 0, "what a million tokens cost that a model reads")
	f.Float64Var(&m.prices.Output, "output-price", 0, "and those that it writes")
}

// check refuses prices that cannot be.
func (m *modelServer) check() error {
	if min(m.prices.Input, m.prices.Output) < 0 {
		return memory.Errorf(memory.Invalid, "--input-price and --output-price are not below 0")
	}
	return nil
}

// noServer refuses a command line that names a server to a command that asks none.
func (g *global) noServer(cmd *cobra.Command) error {
	if cmd.Flags().Changed("addr") {
		return memory.Errorf(memory.Invalid, "addr: loci bench %s measures a memory of its own and asks no server; leave out --addr", cmd.Name())
	}
	return nil
}

// setOr adds the flag --set to a command for which it names a data set; in the form key=value it
// is a setting, as elsewhere.
func setOr(g *global, cmd *cobra.Command, into *string, fallback, help string) {
	*into = fallback
	cmd.Flags().Var(&setFlag{g, into}, "set", help+"; or a setting, as key=value")
}

type setFlag struct {
	g    *global
	name *string
}

// String implements pflag.Value.
func (s *setFlag) String() string {
	if s.name == nil {
		return ""
	}
	return *s.name
}

// Set implements pflag.Value.
func (s *setFlag) Set(value string) error {
	if strings.Contains(value, "=") {
		s.g.set = append(s.g.set, value)
	} else {
		*s.name = value
	}
	return nil
}

// Type implements pflag.Value.
func (s *setFlag) Type() string { return "string" }

// withServer runs a server in this process, on a memory of its own with the models of config, for
// as long as do takes.
func withServer(ctx context.Context, config config.Config, do func(context.Context, bench.Serving) error) (err error) {
	dir, err := os.MkdirTemp("", "loci-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	own, err := config.ForBench(map[string]string{"data": dir})
	if err != nil {
		return err
	}
	s, err := open(ctx, own, loci.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- s.run(serving) }()
	err = do(ctx, bench.Serving{URL: s.url(), Settle: s.Settle, Models: bench.ModelsOf(s.Config())})
	stop()
	return errors.Join(err, <-finished)
}

// withTarget runs a server as withServer does, to find turns in.
func withTarget(ctx context.Context, config config.Config, do func(context.Context, *bench.Server) error) error {
	return withServer(ctx, config, func(ctx context.Context, s bench.Serving) error {
		transport := &http.Transport{MaxIdleConnsPerHost: 64}
		defer transport.CloseIdleConnections()
		target := &bench.Server{URL: s.URL, Models: s.Models, HTTP: &http.Client{Transport: transport}}
		if strings.HasPrefix(s.Models.Embedder, "remote:") {
			target.Settle = s.Settle
		}
		return do(ctx, target)
	})
}

// printDifferences writes what changed since the run that a file has, if it was compared with.
func printDifferences[T any](w io.Writer, list []T, than string) {
	if len(list) > 0 {
		fmt.Fprintf(w, "\nless the run of %s\n", than)
	}
	for _, d := range list {
		fmt.Fprintln(w, d)
	}
}

// printRows writes a line of JSON for each figure.
func printRows[T any](w io.Writer, rows []T) error {
	enc := json.NewEncoder(w)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return nil
}
