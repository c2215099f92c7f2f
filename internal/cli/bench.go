package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/bench"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/models"
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

// loadChosen returns the settings with the embedder that is used where they say auto.
func (g *global) loadChosen(cmd *cobra.Command) (config.Config, error) {
	c, err := g.load(cmd)
	if err != nil {
		return c, err
	}
	c, _ = models.ChooseEmbedder(cmd.Context(), c)
	return c, nil
}

// modelsOf names the models of the settings.
func modelsOf(c config.Config) bench.Models {
	return bench.Models{Embedder: c.Embedder, Reranker: c.Reranker}
}

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
	err = do(ctx, bench.Serving{URL: s.url(), Settle: s.Settle})
	stop()
	return errors.Join(err, <-finished)
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

// withTarget runs a server as withServer does, to find turns in.
func withTarget(ctx context.Context, config config.Config, do func(context.Context, *bench.Server) error) error {
	return withServer(ctx, config, func(ctx context.Context, s bench.Serving) error {
		transport := &http.Transport{MaxIdleConnsPerHost: 64}
		defer transport.CloseIdleConnections()
		target := &bench.Server{URL: s.URL, HTTP: &http.Client{Transport: transport}}
		if strings.HasPrefix(config.Embedder, "remote:") {
			target.Settle = s.Settle
		}
		return do(ctx, target)
	})
}
