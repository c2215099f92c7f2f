package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func upkeep(g *global) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "upkeep",
		Short: "Take out what expired, faded or is too much; undoable",
		Long: "What the settings upkeep.* and facts' own expiry take out of recall. A server does it by itself, at most a day later.\n" +
			"It shows what would leave, until --yes is given.",
		Example: "  loci upkeep\n  loci upkeep --yes\n  loci upkeep --set upkeep.user=1000",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return show(g, cmd, func(out printer, left client.Upkeep) { out.left(left, g.undoHint(left.Run)) })(c.Upkeep(ctx, client.UpkeepRequest{DryRun: !yes}))
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return onMemory(g, cmd)
}

// left writes what upkeep took out or would take out.
func (s printer) left(u client.Upkeep, undoHint string) {
	if len(u.Changes) == 0 {
		s.line("nothing leaves")
		return
	}
	for _, c := range u.Changes {
		what := s.what(c, nil)
		if c.After.Turn != nil {
			what = "turn " + c.After.Turn.ID
		}
		s.line("%s%s", s.in(red, "- "+what), s.because(c))
	}
	if u.DryRun {
		s.line("to do it: loci upkeep --yes")
		return
	}
	s.line("%s", undoHint)
}
