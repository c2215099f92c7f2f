package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func users(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "users", Short: "List the users, erase one whole, or let one who was erased begin anew"}
	list := &cobra.Command{
		Use: "list", Short: "The users that have or had a memory, with their names", Example: "  loci users list --json", Args: cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			all, err := c.Users(ctx)
			return show(g, cmd, printer.users)(client.Users{Users: append([]client.User{}, all...)}, err)
		}),
	}
	cmd.AddCommand(g.withJSON(list), eraseUser(g), openUser(g))
	return cmd
}

func (s printer) users(all client.Users) {
	for _, u := range all.Users {
		closed := ""
		if u.Closed {
			closed = "  erased and closed"
		}
		s.line("%-36s  %s%s", brief(u.User, 100), brief(u.Name, 100), closed)
	}
}

func eraseUser(g *global) *cobra.Command {
	var yes, ahead bool
	cmd := &cobra.Command{
		Use:   "erase NAME --yes",
		Short: "Remove all words of a user for good, and close the user",
		Long: "All that was said, learned, summed up, written down and attached goes, in the database, the index, the vault and the history, with the copies that\n" +
			"others have of the user's facts. Ids and times stay; nothing brings the words back. Chats of the user go on without memory, until loci users open.\n" +
			"A name of which nothing was ever kept is an error; --ahead closes it, too, before anything is.",
		Example: "  loci users erase ana --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return memory.Errorf(memory.Invalid, "this removes all of %s for good; add --yes to do it", args[0])
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				erase := c.EraseKnownUser
				if ahead {
					erase = c.EraseUser
				}
				gone, err := erase(ctx, args[0])
				if errors.Is(err, memory.NotFound) {
					err = fmt.Errorf("%w; --ahead closes it all the same", err)
				}
				return show(g, cmd, printer.erasedUser)(gone, err)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; it cannot be undone")
	cmd.Flags().BoolVar(&ahead, "ahead", false, "close a name of which nothing was ever kept, too")
	return g.withJSON(cmd)
}

func (s printer) erasedUser(gone client.Erased) {
	s.line("%s is erased and closed since %s", brief(gone.User, 100), when(gone.ClosedAt))
	s.line("  removed: %s", tallyOf(gone.Removed))
	s.line("  of others: %s", tallyOf(map[string]int{"links": gone.Links, "traces": gone.Traces}))
	for _, h := range gone.Held {
		s.line("not reached: %s", brief(h, 300))
	}
}

func openUser(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "open NAME",
		Short:   "Let a user who was erased begin anew, with nothing",
		Example: "  loci users open ana",
		Args:    cobra.ExactArgs(1),
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := c.OpenUser(ctx, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), brief(args[0], 100)+" is open")
			return err
		}),
	}
}
