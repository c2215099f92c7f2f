package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
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
			found, runs, err := examine(ctx, c, confirm)
			if err != nil {
				return err
			}
			err = g.print(cmd.OutOrStdout(), found, func(out printer) {
				out.checkup(found)
				for _, run := range runs {
					out.line("%s", g.undoHint(run))
				}
			})
			if n := len(found.Findings); err == nil && n > 0 {
				err = fmt.Errorf("%d things are wrong", n)
				if n == 1 {
					err = fmt.Errorf("1 thing is wrong")
				}
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "forget the files that are gone at once")
	return g.withJSON(cmd)
}

// examine asks what is wrong and, where deletions are confirmed by it, in which runs what is
// known of whoever asks was forgotten then, newest first.
func examine(ctx context.Context, c *client.Client, confirm bool) (found client.Checkup, runs []string, err error) {
	if !confirm {
		found, err = c.Doctor(ctx)
		return found, nil, err
	}
	before, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err != nil {
		return found, nil, fmt.Errorf("read the last change: %w", err)
	}
	if found, err = c.ConfirmDeletions(ctx); err != nil {
		return found, nil, err
	}
	for one, err := range c.AllChanges(ctx, client.ChangesQuery{}) {
		if err != nil {
			return found, nil, fmt.Errorf("read what was forgotten: %w", err)
		}
		if len(before.Changes) > 0 && one.ID == before.Changes[0].ID {
			break
		}
		if one.Action == memory.ActionRetire && one.Author.Name == memory.AuthorFile && !slices.Contains(runs, one.Run) {
			runs = append(runs, one.Run)
		}
	}
	return found, runs, nil
}

// checkup writes what was looked at and what is wrong.
func (s printer) checkup(c client.Checkup) {
	for _, what := range c.Checked {
		s.line("looked at %s", what)
	}
	for _, f := range c.Findings {
		at := f.Part
		if f.Path != "" {
			at += " " + f.Path
		}
		s.line("%s", s.in(red, at+": "+f.What))
		if f.Do != "" {
			s.line("  %s", f.Do)
		}
	}
	if len(c.Findings) == 0 {
		s.line("nothing is wrong")
	}
}
