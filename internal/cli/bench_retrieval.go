package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/bench"
)

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
