package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench"
)

func benchmark() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure Loci on this machine"}
	cmd.AddCommand(benchLoad(), benchRetrieval())
	return cmd
}

func benchLoad() *cobra.Command {
	var o bench.LoadOptions
	cmd := &cobra.Command{
		Use:     "load",
		Short:   "Measure latency and throughput over HTTP, on a memory of its own",
		Example: "  loci bench load --memories 10000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withServer(cmd.Context(), func(ctx context.Context, s bench.Serving) error {
				return bench.Load(ctx, s, o, func(r bench.Row) { fmt.Fprintln(cmd.OutOrStdout(), r) })
			})
		},
	}
	cmd.Flags().IntVar(&o.Memories, "memories", 0, "memories of one user (10000 unless given)")
	cmd.Flags().IntVar(&o.Requests, "requests", 0, "requests of each measure (1000 unless given)")
	cmd.Flags().IntVar(&o.Clients, "clients", 0, "clients at once, where several are meant (8 unless given)")
	return cmd
}

func benchRetrieval() *cobra.Command {
	var set string
	cmd := &cobra.Command{
		Use:   "retrieval --set NAME FILE...",
		Short: "Measure how well memory finds what was said, over HTTP, on a public data set",
		Long: "Keep the conversations of a data set word for word, ask its questions through /api/memory/search, and score what is\n" +
			"found: recall@10 as the fraction of the evidence, MRR@20, and how well questions put to the wrong conversation are\n" +
			"told apart (AUC). Sets: locomo (JSON), beam (JSON lines), realmem (a JSON file for each persona); .gz is unpacked.",
		Example: "  loci bench retrieval --set locomo locomo10.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			data, err := bench.Open(set, files...)
			if err != nil {
				return err
			}
			return withServer(cmd.Context(), func(ctx context.Context, s bench.Serving) error {
				report, err := bench.Retrieval(ctx, &bench.Server{URL: s.URL}, data)
				if err == nil {
					fmt.Fprint(cmd.OutOrStdout(), report)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&set, "set", "locomo", "the data set's format: locomo, beam or realmem")
	return cmd
}

// withServer runs a server on a memory of its own, with an upstream that answers
// at once, for as long as do takes.
func withServer(ctx context.Context, do func(context.Context, bench.Serving) error) (err error) {
	dir, err := os.MkdirTemp("", "loci-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	upstream := bench.Upstream()
	defer upstream.Close()
	config, err := loci.LoadConfig(loci.Sources{Flags: map[string]string{
		"addr": "127.0.0.1:0", "data": dir, "log.level": "error", "upstream.url": upstream.URL + "/v1",
	}})
	if err != nil {
		return err
	}
	s, err := open(ctx, config, loci.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- s.run(serving) }()
	err = do(ctx, bench.Serving{URL: s.url(), Upstream: upstream, Settle: s.Settle})
	stop()
	return errors.Join(err, <-finished)
}
