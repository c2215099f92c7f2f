package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func forget(g *global) *cobra.Command {
	var ids []string
	var yes, erase bool
	cmd := &cobra.Command{
		Use:     "forget [QUESTION]",
		Short:   "Forget memories; undoable",
		Long:    "Forget memories by --id, or those that a question finds. A question only shows what would go, until --yes is given.\n\n--erase removes the words for good, with all that says the same: what was said of it, also where it was forgotten before, summaries, the history. Ids and times stay; nothing brings the words back. It only shows what would go until --yes is given. Backups, logs and commits elsewhere are not reached.",
		Example: "  loci forget --id 0199c5d2-…\n  loci forget \"what I said about my job\" --yes\n  loci forget --erase \"my allergy\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := client.ForgetRequest{Query: strings.TrimSpace(strings.Join(args, " ")), IDs: ids, Erase: erase, DryRun: (len(ids) == 0 || erase) && !yes}
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
	cmd.Flags().BoolVar(&erase, "erase", false, "remove the words for good; it cannot be undone")
	return onMemory(g, cmd)
}

func (s sheet) forgotten(gone client.Forgotten, takeBack string) {
	if len(gone.Memories) == 0 {
		s.line("nothing matches")
		return
	}
	verb := "forgot"
	switch {
	case gone.Erased && gone.DryRun:
		verb = "would erase"
	case gone.Erased:
		verb = "erased"
	case gone.DryRun:
		verb = "would forget"
	}
	for _, m := range gone.Memories {
		s.line("%s", strings.TrimRight(fmt.Sprintf("%s %s %s  %s", verb, m.Kind, m.ID, said(m.Content, 100)), " "))
	}
	switch {
	case gone.DryRun && gone.Erased:
		s.line("add --yes to do it; it cannot be undone")
	case gone.DryRun:
		s.line("add --yes to do it")
	case gone.Erased:
		s.line("the words are gone for good")
	default:
		s.line("%s", takeBack)
	}
}
