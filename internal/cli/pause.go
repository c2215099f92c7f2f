package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func pause(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause [learning|memory|none]",
		Short: "Put memory on hold, or see what is",
		Long: "learning: what is said is kept and never learned from. memory: chats neither read memory nor leave anything in it.\n" +
			"none: nothing is on hold. Without a word it says what is.",
		Example:   "  loci pause\n  loci pause learning\n  loci pause none",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"learning", "memory", "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && pauses[args[0]] == "" {
				return memory.Errorf(memory.Invalid, "pause %s: it is learning, memory or none", args[0])
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				shown := show(g, cmd, func(out printer, p client.Pause) { out.line("%s", pauses[p.Pause]) })
				if len(args) == 0 {
					return shown(c.Paused(ctx))
				}
				return shown(c.Pause(ctx, client.Pause{Pause: args[0]}))
			})
		},
	}
	return onMemory(g, cmd)
}

// pauses says in words what is on hold.
var pauses = map[string]string{
	"none":     "nothing is on hold",
	"learning": "learning is on hold: what is said is kept and never learned from",
	"memory":   "memory is on hold: chats neither read it nor leave anything in it",
}
