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

func newKeysCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Manage API keys of users, front ends and administrators",
		Long: "Manage API keys in addition to LOCI_API_KEY, each with a role. Loci stores only a hash of a key, so it shows a key only once: after creating it.\n" +
			"A removed key is refused: immediately by this server, within seconds by other servers of the same database.",
	}
	cmd.AddCommand(newKeysAddCommand(g), newKeysListCommand(g), newKeysRotateCommand(g), newKeysRemoveCommand(g))
	return cmd
}

func newKeysAddCommand(g *sharedState) *cobra.Command {
	req := client.NewKey{}
	var admin, front, mem0, read bool
	var days int
	cmd := &cobra.Command{
		Use:   "add NAME (--user USER | --front | --admin)",
		Short: "Create a key, which is shown only once",
		Long: "Create a key. --user: the key gives access to the memory of that user only. --admin: the key may do anything for any user, like LOCI_API_KEY.\n" +
			"--front: a front end may use the key for all users, and names the user of each request in the header X-Loci-User.\n" +
			"--mem0 prints the key with the prefix m0-, which tools for mem0 require. The key is valid with and without the prefix.",
		Example: "  loci keys add laptop --user ana\n  loci keys add open-webui --front\n  loci keys add assistant --front --mem0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			switch {
			case req.User != "":
				req.Role = string(memory.KeyUser)
			case front:
				req.Role = string(memory.KeyFront)
			case admin:
				req.Role = string(memory.KeyAdmin)
			default:
				return memory.Errorf(memory.Invalid, "give the role of the key: --user NAME, --front or --admin")
			}
			if req.ExpiresAt = expiryAfter(days); read {
				req.Scope = string(memory.ScopeRead)
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				key, err := c.AddKey(ctx, req)
				if mem0 {
					key.Text = httpx.Mem0Prefix + key.Text
				}
				return g.printNewKey(cmd)(key, err)
			})
		},
	}
	cmd.Flags().StringVar(&req.User, "user", "", "user whose memory the key gives access to")
	cmd.Flags().BoolVar(&front, "front", false, "key for a front end that names the user of each request")
	cmd.Flags().BoolVar(&admin, "admin", false, "key for an administrator")
	cmd.Flags().BoolVar(&read, "read", false, "read-only key; chats with it are not recorded")
	cmd.Flags().IntVar(&days, "days", 0, "number of days until the key expires; 0 means never")
	cmd.Flags().BoolVar(&mem0, "mem0", false, "print the key with the prefix m0- for tools of mem0")
	cmd.MarkFlagsMutuallyExclusive("user", "front", "admin")
	return g.withJSONFlag(cmd)
}

// expiryAfter returns the time after this number of days, or the zero time (never) for 0 days.
func expiryAfter(days int) (expiry time.Time) {
	if days != 0 {
		expiry = time.Now().AddDate(0, 0, days)
	}
	return expiry
}

// printNewKey returns a function that prints a new key.
func (g *sharedState) printNewKey(cmd *cobra.Command) func(client.MadeKey, error) error {
	return printAnswer(g, cmd, func(out printer, key client.MadeKey) {
		fmt.Fprintf(out, "%s\n", key.Text)
		fmt.Fprintf(cmd.ErrOrStderr(), "save this key: it is shown only once; to remove it: loci keys remove %s\n", key.ID)
	})
}

func newKeysRotateCommand(g *sharedState) *cobra.Command {
	var grace time.Duration
	var days int
	cmd := &cobra.Command{
		Use:     "rotate ID",
		Short:   "Replace a key; the old key stays valid for a while",
		Example: "  loci keys rotate 9f2c1a7b33d04e58 --grace 1h",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeKeyID(ctx, c, &args[0]); err != nil {
				return err
			}
			return g.printNewKey(cmd)(c.RotateKey(ctx, args[0], client.RotateKey{GraceSeconds: int(grace.Seconds()), ExpiresAt: expiryAfter(days)}))
		}),
	}
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "how long the old key stays valid")
	cmd.Flags().IntVar(&days, "days", 0, "number of days until the new key expires; 0 means never")
	return g.withJSONFlag(cmd)
}

// completeKeyID completes the id of a key in place.
func completeKeyID(ctx context.Context, c *client.Client, id *string) error {
	keys, err := c.Keys(ctx)
	if err != nil {
		return err
	}
	return completeID(id, labelIDs(keys.Keys, func(k client.Key) labeledID { return labeledID{k.ID, k.Name} }))
}

func newKeysListCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the keys with role, scope and last use, but not the secret keys",
		Example: "  loci keys list",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return printAnswer(g, cmd, func(out printer, keys client.Keys) {
				for _, k := range keys.Keys {
					out.line("%s  %-5s  %-5s  %-20s  made %s  used %s  expires %s  %s", k.ID, k.Role, k.Scope, shorten(cmp.Or(k.User, "-"), 20), formatTime(k.CreatedAt), timeOrNever(k.UsedAt), timeOrNever(k.ExpiresAt), shorten(k.Name, 100))
				}
				if len(keys.Keys) == 0 {
					out.line("no API keys yet; loci keys add creates one")
				}
			})(c.Keys(ctx))
		}),
	}
	return g.withJSONFlag(cmd)
}

func newKeysRemoveCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove a key; requests with it are refused",
		Example: "  loci keys remove 9f2c1a7b33d04e58",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeKeyID(ctx, c, &args[0]); err != nil {
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

func newUsersCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{Use: "users", Short: "List users, erase a user, or reopen an erased user"}
	list := &cobra.Command{
		Use: "list", Short: "List the users that have or had a memory", Example: "  loci users list --json", Args: cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			all, err := c.Users(ctx)
			return printAnswer(g, cmd, printer.printUsers)(client.Users{Users: append([]client.User{}, all...)}, err)
		}),
	}
	cmd.AddCommand(g.withJSONFlag(list), newUsersEraseCommand(g), newUsersOpenCommand(g))
	return cmd
}

func (s printer) printUsers(list client.Users) {
	for _, u := range list.Users {
		closed := ""
		if u.Closed {
			closed = "  erased and closed"
		}
		s.line("%-36s  %s%s", shorten(u.User, 100), shorten(u.Name, 100), closed)
	}
}

func newUsersEraseCommand(g *sharedState) *cobra.Command {
	var yes, closeUnknown bool
	cmd := &cobra.Command{
		Use:   "erase NAME --yes",
		Short: "Erase all text of a user permanently, and refuse new memory of the user",
		Long: "Erase all messages, facts, summaries, profile entries and documents of a user from the database, the index, the vault and the history,\n" +
			"and other users' copies of the user's facts. Ids and times are kept; the text cannot be restored. Then close the user: chats work without\n" +
			"memory until loci users open. A name without memory is an error; --ahead closes the name anyway, so that nothing is stored for it.",
		Example: "  loci users erase ana --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return memory.Errorf(memory.Invalid, "this erases the whole memory of %s permanently; add --yes to do it", args[0])
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				erase := c.EraseExistingUser
				if closeUnknown {
					erase = c.EraseUser
				}
				erased, err := erase(ctx, args[0])
				if errors.Is(err, memory.NotFound) {
					err = fmt.Errorf("%w; --ahead closes the name anyway", err)
				}
				return printAnswer(g, cmd, printer.printErasedUser)(erased, err)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm: erase the user; this cannot be undone")
	cmd.Flags().BoolVar(&closeUnknown, "ahead", false, "also close a name that has no memory yet")
	return g.withJSONFlag(cmd)
}

func (s printer) printErasedUser(erased client.Erased) {
	s.line("%s is erased and closed since %s", shorten(erased.User, 100), formatTime(erased.ClosedAt))
	s.line("  removed: %s", formatCounts(erased.Removed))
	s.line("  removed from other users' memory: %s", formatCounts(map[string]int{"links": erased.Links, "traces": erased.Traces}))
	for _, h := range erased.TextRemainsIn {
		s.line("the text may remain in: %s", shorten(h, 300))
	}
}

func newUsersOpenCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:     "open NAME",
		Short:   "Reopen an erased user with an empty memory",
		Example: "  loci users open ana",
		Args:    cobra.ExactArgs(1),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := c.OpenUser(ctx, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), shorten(args[0], 100)+" is open")
			return err
		}),
	}
}

func newAuditCommand(g *sharedState) *cobra.Command {
	var q client.AuditQuery
	var all bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show the audit log: sign-ins, keys, administrators' access to memory, exports, erasures",
		Long: "Show the audit log, newest first: sign-ins, created, rotated, removed and refused keys, administrators' access to the memory of\n" +
			"other users, exports, imports, backups, erasures, pauses, reloads. The log contains no text of memories. --json prints one line per entry.",
		Example: "  loci audit --about ana --since yesterday\n  loci audit --all --json > audit.jsonl",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			page, err := c.Audit(ctx, q)
			if all {
				page.Entries, err = c.AllAudit(ctx, q)
			}
			if err != nil {
				return err
			}
			if g.asJSON {
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
					out.line("%s  %-16s  by %-24s  about %-16s  %-15s  %s", formatTime(e.At), e.Act, shorten(e.By, 60), shorten(cmp.Or(e.User, "-"), 60), e.Address, shorten(e.Detail, 100))
				}
				if len(page.Entries) == 0 {
					out.line("no entry matches; loci audit without filters shows the newest entries")
				}
			})
		}),
	}
	cmd.Flags().StringVar(&q.User, "about", "", "only entries about the memory of this user")
	cmd.Flags().StringVar(&q.Act, "act", "", "only entries with this action, for example \"read memory\"")
	cmd.Flags().Var(timeFlag{target: &q.Since}, "since", "only entries since this time: 2026-05-03, yesterday, 90m (ago), …")
	cmd.Flags().Var(timeFlag{target: &q.Until, atEnd: true}, "until", "only entries up to this time")
	cmd.Flags().BoolVar(&all, "all", false, "show all entries instead of the newest 50")
	return g.withJSONFlag(cmd)
}
