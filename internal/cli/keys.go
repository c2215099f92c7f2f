package cli

import (
	"cmp"
	"context"
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
	var there []named
	for _, k := range all.Keys {
		there = append(there, named{k.ID, k.Name})
	}
	return complete(id, there)
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
