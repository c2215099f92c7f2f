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
	cmd.AddCommand(benchLoad())
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
