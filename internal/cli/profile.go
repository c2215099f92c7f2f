package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func newProfileCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile [KEY]",
		Short: "Show the user's profile: values by key that every prompt contains",
		Long: "Show the keys and values that every prompt contains, such as timezone, units or name, as far as the prompt has room. With KEY show only the value.\n" +
			"--as-of shows the profile at an earlier time. The flag --profile has another purpose: it selects settings.",
		Example: "  loci profile\n  loci profile timezone\n  loci profile --as-of yesterday\n  loci profile set timezone Europe/Lisbon\n  loci profile remove timezone",
		Args:    cobra.MaximumNArgs(1),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if len(args) == 0 {
				return printAnswer(g, cmd, printer.printProfile)(c.Profile(ctx))
			}
			return printAnswer(g, cmd, func(out printer, e client.Entry) { fmt.Fprintln(out, sanitize(e.Value)) })(c.Entry(ctx, args[0]))
		}),
	}
	cmd.AddCommand(newProfileSetCommand(g), newProfileRemoveCommand(g))
	return g.withReadFlags(cmd)
}

func newProfileSetCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "set KEY VALUE…",
		Short:   "Set the value of a key",
		Example: "  loci profile set timezone Europe/Lisbon\n  loci profile set units metric, and degrees Celsius",
		Args:    cobra.MinimumNArgs(2),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			return printAnswer(g, cmd, printer.printEntry)(c.SetEntry(ctx, args[0], strings.Join(args[1:], " ")))
		}),
	}
	return withMemoryFlags(g, cmd)
}

func newProfileRemoveCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove KEY",
		Short:   "Remove a key; loci undo restores it",
		Example: "  loci profile remove timezone",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			return printAnswer(g, cmd, func(out printer, r client.Receipt) { out.line("removed %s", sanitize(args[0])) })(c.DropEntry(ctx, args[0]))
		}),
	}
	return withMemoryFlags(g, cmd)
}

// printProfile prints the entries, one per line.
func (s printer) printProfile(p client.Profile) {
	if len(p.Entries) == 0 {
		s.line("the profile is empty; loci profile set KEY VALUE adds an entry")
	}
	for _, e := range p.Entries {
		s.printEntry(e)
	}
}

func (s printer) printEntry(e client.Entry) {
	s.line("%s: %s  %s", s.styled(bold, sanitize(e.Key)), sanitize(e.Value), s.styled(dim, fmt.Sprintf("%s, %d tokens", formatTime(e.UpdatedAt), e.Tokens)))
}

func newCoreCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "core",
		Short:   "Show the core: the facts about you that every conversation begins with",
		Long:    "Show the facts in the first prompt of every conversation, independent of the question, with their tokens (limit: setting recall.core).\nAlso show how many facts do not fit; search still finds them.",
		Example: "  loci core\n  loci core --json",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return printAnswer(g, cmd, printer.printCore)(c.Core(ctx))
		}),
	}
	return withMemoryFlags(g, cmd)
}

// printCore prints the core as it appears in a prompt.
func (s printer) printCore(c client.Core) {
	s.line("%s", s.styled(dim, fmt.Sprintf("uses %d of at most %d tokens", c.Tokens, c.Budget)))
	for _, e := range c.Profile {
		s.printEntry(e)
	}
	heading := ""
	for _, f := range c.Facts {
		if heading != f.Heading {
			heading = f.Heading
			s.line("%s", s.styled(bold, heading))
		}
		why := ""
		if f.Why == "pinned" {
			why = "  " + s.styled(dim, "pinned")
		}
		s.line("  %s%s", sanitize(f.Content), why)
	}
	if len(c.OverBudget) > 0 {
		s.line("%s", s.styled(dim, fmt.Sprintf("and %d more facts that do not fit; search still finds them", len(c.OverBudget))))
	}
}
