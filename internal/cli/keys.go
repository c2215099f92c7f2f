package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func apiKeys(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "API keys of users, front ends and those who run the server",
		Long: "API keys beside LOCI_API_KEY, each of its own role. Of a key only a hash is kept: it is shown once, when it is made.\n" +
			"What is removed opens nothing any more: at this server at once, at others on the same database within seconds.",
	}
	cmd.AddCommand(addKey(g), listKeys(g), rotateKey(g), removeKey(g))
	return cmd
}

func addKey(g *global) *cobra.Command {
	in := client.NewKey{}
	var admin, front, mem0, read bool
	var days int
	cmd := &cobra.Command{
		Use:   "add NAME (--user USER | --front | --admin)",
		Short: "Make a key, which is shown this once",
		Long: "Make a key. With --user it opens that user's memory alone, whoever the request names. With --front a front end names the user of each\n" +
			"request, by X-Loci-User. With --admin it may do anything, for any user, as LOCI_API_KEY may. --mem0 shows it as mem0's tools want keys: with\n" +
			"m0- before it. It opens with and without that.",
		Example: "  loci keys add laptop --user ana\n  loci keys add open-webui --front\n  loci keys add assistant --front --mem0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			switch {
			case in.User != "":
				in.Role = string(memory.KeyUser)
			case front:
				in.Role = string(memory.KeyFront)
			case admin:
				in.Role = string(memory.KeyAdmin)
			default:
				return memory.Errorf(memory.Invalid, "say what it is for: --user NAME, --front or --admin")
			}
			if in.ExpiresAt = afterDays(days); read {
				in.Scope = string(memory.ScopeRead)
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				made, err := c.AddKey(ctx, in)
				if mem0 {
					made.Text = httpx.Mem0Prefix + made.Text
				}
				return g.showKey(cmd)(made, err)
			})
		},
	}
	cmd.Flags().StringVar(&in.User, "user", "", "whose memory it opens, and nobody else's")
	cmd.Flags().BoolVar(&front, "front", false, "for a front end that names the user of each request")
	cmd.Flags().BoolVar(&admin, "admin", false, "for whoever runs the server")
	cmd.Flags().BoolVar(&read, "read", false, "it may read and not write; chats with it leave no words")
	cmd.Flags().IntVar(&days, "days", 0, "after how many days it expires; 0: never")
	cmd.Flags().BoolVar(&mem0, "mem0", false, "show it as mem0's tools want keys, beginning with m0-")
	cmd.MarkFlagsMutuallyExclusive("user", "front", "admin")
	return g.withJSON(cmd)
}

// afterDays is when so many days are over, the zero time for none.
func afterDays(days int) (at time.Time) {
	if days != 0 {
		at = time.Now().AddDate(0, 0, days)
	}
	return at
}

// showKey prints a key that was made.
func (g *global) showKey(cmd *cobra.Command) func(client.MadeKey, error) error {
	return show(g, cmd, func(out printer, made client.MadeKey) {
		fmt.Fprintf(out, "%s\n", made.Text)
		fmt.Fprintf(cmd.ErrOrStderr(), "keep it: it is shown this once; to remove it: loci keys remove %s\n", made.ID)
	})
}

func rotateKey(g *global) *cobra.Command {
	var grace time.Duration
	var days int
	cmd := &cobra.Command{
		Use:     "rotate ID",
		Short:   "Make a key in place of another, which still opens for a while",
		Example: "  loci keys rotate 9f2c1a7b33d04e58 --grace 1h",
		Args:    cobra.ExactArgs(1),
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeKey(ctx, c, &args[0]); err != nil {
				return err
			}
			return g.showKey(cmd)(c.RotateKey(ctx, args[0], client.RotateKey{Grace: int(grace.Seconds()), ExpiresAt: afterDays(days)}))
		}),
	}
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "how long the old key still opens")
	cmd.Flags().IntVar(&days, "days", 0, "after how many days the new key expires; 0: never")
	return g.withJSON(cmd)
}

// completeKey completes the beginning of a key's id.
func completeKey(ctx context.Context, c *client.Client, id *string) error {
	all, err := c.Keys(ctx)
	if err != nil {
		return err
	}
	return complete(id, namesOf(all.Keys, func(k client.Key) named { return named{k.ID, k.Name} }))
}

func listKeys(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the keys: roles, scopes, last use; the keys themselves are not stored",
		Example: "  loci keys list",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return show(g, cmd, func(out printer, all client.Keys) {
				for _, k := range all.Keys {
					out.line("%s  %-5s  %-5s  %-20s  made %s  used %s  expires %s  %s", k.ID, k.Role, k.Scope, brief(cmp.Or(k.User, "-"), 20), when(k.CreatedAt), whenever(k.UsedAt), whenever(k.ExpiresAt), brief(k.Name, 100))
				}
				if len(all.Keys) == 0 {
					out.line("no keys are stored")
				}
			})(c.Keys(ctx))
		}),
	}
	return g.withJSON(cmd)
}

func removeKey(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a key; it opens nothing any more",
		Example: "  loci keys remove 9f2c1a7b33d04e58",
		Args:    cobra.ExactArgs(1),
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeKey(ctx, c, &args[0]); err != nil {
				return err
			}
			if err := c.RemoveKey(ctx, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", args[0])
			return err
		}),
	}
}

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

func auditRecord(g *global) *cobra.Command {
	var q client.AuditQuery
	var all bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who signed in, made keys, looked into another's memory, exported or erased",
		Long: "Show the audit record, newest first: sign-ins, keys made, rotated and removed, refused keys, what whoever runs the server did in another\n" +
			"user's memory, exports, imports, backups, erasures, pauses, reloads. It has no words of anybody's memory. With --json each entry is a line.",
		Example: "  loci audit --about ana --since yesterday\n  loci audit --all --json > audit.jsonl",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.Audit(ctx, q)
			if all {
				page.Entries, err = c.AllAudit(ctx, q)
			}
			if err != nil {
				return err
			}
			if g.json {
				out := json.NewEncoder(cmd.OutOrStdout())
				for _, e := range page.Entries {
					if err := out.Encode(e); err != nil {
						return err
					}
				}
				return nil
			}
			return g.print(cmd.OutOrStdout(), page, func(out printer) {
				for _, e := range page.Entries {
					out.line("%s  %-16s  by %-24s  about %-16s  %-15s  %s", when(e.At), e.Act, brief(e.By, 60), brief(cmp.Or(e.User, "-"), 60), e.Address, brief(e.Detail, 100))
				}
				if len(page.Entries) == 0 {
					out.line("nothing is on record")
				}
			})
		}),
	}
	cmd.Flags().StringVar(&q.User, "about", "", "whose memory it was about")
	cmd.Flags().StringVar(&q.Act, "act", "", "what was done, as \"read memory\"")
	cmd.Flags().Var(timeFlag{at: &q.Since}, "since", "from then on: 2026-05-03, yesterday, 90m (ago), …")
	cmd.Flags().Var(timeFlag{at: &q.Until, end: true}, "until", "up to then")
	cmd.Flags().BoolVar(&all, "all", false, "all of it, not the newest 50 alone")
	return g.withJSON(cmd)
}
