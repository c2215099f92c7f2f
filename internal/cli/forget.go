package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func forget(g *global) *cobra.Command {
	var ids []string
	var yes bool
	cmd := &cobra.Command{
		Use:     "forget [QUESTION]",
		Short:   "Forget memories; undoable",
		Long:    "Forget memories by --id, or those that a question finds. A question only shows what would go, until --yes is given.",
		Example: "  loci forget --id 0199c5d2-…\n  loci forget \"what I said about my job\" --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := client.ForgetRequest{Query: strings.TrimSpace(strings.Join(args, " ")), IDs: ids, DryRun: len(ids) == 0 && !yes}
			if (in.Query == "") == (len(ids) == 0) {
				return memory.Errorf(memory.Invalid, "give a question or --id")
			}
			if slices.Contains(ids, "") {
				return memory.Errorf(memory.Invalid, "--id is empty; loci list shows ids")
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				gone, err := c.Forget(ctx, in)
				if err != nil {
					return err
				}
				return g.print(cmd.OutOrStdout(), gone, func(w io.Writer) { onSheet(w).forgotten(gone, g.takeBack(gone.Run)) })
			})
		},
	}
	cmd.Flags().StringSliceVar(&ids, "id", nil, "id of a memory; may be repeated")
	cmd.Flags().BoolVar(&yes, "yes", false, "forget what the question finds")
	return onMemory(g, cmd)
}

func (s sheet) forgotten(gone client.Forgotten, takeBack string) {
	if len(gone.Memories) == 0 {
		s.line("nothing matches")
		return
	}
	verb := "forgot"
	if gone.DryRun {
		verb = "would forget"
	}
	for _, m := range gone.Memories {
		s.line("%s %s %s  %s", verb, m.Kind, m.ID, said(m.Content, 100))
	}
	if gone.DryRun {
		s.line("add --yes to do it")
		return
	}
	s.line("%s", takeBack)
}
