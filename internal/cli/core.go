package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func coreCommand(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "core",
		Short:   "What every conversation begins with: who you are",
		Long:    "The facts that hold, which the first prompt of a conversation is told whatever is asked, with their tokens (recall.core),\nand those that there is no room for, which are found by search.",
		Example: "  loci core\n  loci core --json",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return show(g, cmd, printer.core)(c.Core(ctx))
		}),
	}
	return onMemory(g, cmd)
}

// core writes a core as it stands in a prompt.
func (s printer) core(c client.Core) {
	s.line("%s", s.in(dim, fmt.Sprintf("%d of %d tokens", c.Tokens, c.Budget)))
	for _, e := range c.Profile {
		s.entry(e)
	}
	under := ""
	for _, f := range c.Facts {
		if under != f.Heading {
			under = f.Heading
			s.line("%s", s.in(bold, under))
		}
		why := ""
		if f.Why == "pinned" {
			why = "  " + s.in(dim, "pinned")
		}
		s.line("  %s%s", harmless(f.Content), why)
	}
	if len(c.Left) > 0 {
		s.line("%s", s.in(dim, fmt.Sprintf("and %d more, for which there is no room: they are found by search", len(c.Left))))
	}
}
