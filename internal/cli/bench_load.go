package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/bench"
)

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
