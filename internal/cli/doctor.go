package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func doctor(g *global) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What is wrong with the vault, the database, the index and the models",
		Long: "It looks at everything that Loci keeps and says what is wrong and what to do about it; its exit status is 1 then.\n" +
			"Files that are gone from the vault at once, as if a disk were not there, are not forgotten until --confirm says so.",
		Example: "  loci doctor\n  loci doctor --confirm",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				ask := c.Doctor
				if confirm {
					ask = c.ConfirmDeletions
				}
				found, err := ask(ctx)
				if err != nil {
					return err
				}
				err = g.print(cmd.OutOrStdout(), found, func(w io.Writer) { onSheet(w).checkup(found) })
				if n := len(found.Findings); err == nil && n > 0 {
					err = fmt.Errorf("%d things are wrong", n)
					if n == 1 {
						err = fmt.Errorf("1 thing is wrong")
					}
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "forget the files that are gone at once")
	cmd.Flags().BoolVar(&g.json, "json", false, "print JSON for programs")
	return cmd
}

// checkup writes what was looked at and what is wrong.
func (s sheet) checkup(c client.Checkup) {
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
