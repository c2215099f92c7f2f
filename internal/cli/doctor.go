package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func doctor(g *global) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What is wrong with the folders, the vault, the database, the index and the models",
		Long: "It looks at everything that Loci keeps and says what is wrong and what to do about it; its exit status is 1 then.\n" +
			"Files that are gone from the vault at once, as if a disk were not there, are not forgotten until --confirm says so, which tells how to take it back.",
		Example: "  loci doctor\n  loci doctor --confirm",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			found, undo, err := examine(ctx, c, confirm)
			if err != nil {
				return err
			}
			err = g.print(cmd.OutOrStdout(), found, func(out printer) {
				out.checkup(found)
				if undo.ToTime != nil {
					out.line("to take this back: %s", undoCommand(undo, g.user))
				}
			})
			if n := len(found.Findings); err == nil && n > 0 {
				err = fmt.Errorf("%s found", many(n, "faults"))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "forget the files that are gone at once")
	return g.withJSON(cmd)
}

// examine asks what is wrong and, where that confirms deletions, how they are undone.
func examine(ctx context.Context, c *client.Client, confirm bool) (found client.Checkup, undo client.UndoRequest, err error) {
	if !confirm {
		found, err = c.Doctor(ctx)
		return found, undo, err
	}
	before, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err != nil {
		return found, undo, fmt.Errorf("read the last change: %w", err)
	}
	if found, err = c.ConfirmDeletions(ctx); err != nil || len(before.Changes) == 0 {
		return found, undo, err
	}
	last := before.Changes[0]
	after, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err == nil && after.Changes[0].ID != last.ID {
		undo.ToTime = &last.CreatedAt
	}
	return found, undo, err
}

// checkup writes what was looked at and what is wrong.
func (s printer) checkup(c client.Checkup) {
	for _, what := range c.Checked {
		s.line("looked at %s", what)
	}
	for _, f := range c.Findings {
		s.line("%s", s.in(red, strings.TrimSpace(f.Part+" "+f.Path)+": "+f.What))
		if f.Do != "" {
			s.line("  %s", f.Do)
		}
	}
	if len(c.Findings) == 0 {
		s.line("nothing is wrong")
	}
}
