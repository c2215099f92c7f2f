package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func relearn(g *global) *cobra.Command {
	var in client.RelearnRequest
	var since time.Time
	cmd := &cobra.Command{
		Use:   "relearn",
		Short: "Learn again from what was said",
		Long: "Queue what the user said to be learned from again, by the model or the rules that are set now. What is known stays,\n" +
			"what was forgotten, undone or rejected stays so. A running server does the work in the background.",
		Example: "  loci relearn --since yesterday\n  loci relearn --conversation 0199c5d2-…",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !since.IsZero() {
				in.Since = &since
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := completeChatID(ctx, c, &in.Conversation); err != nil {
					return err
				}
				return show(g, cmd, func(out printer, queued client.Relearning) {
					out.line("%s to learn from again; loci jobs shows when that is done", many(queued.Turns, "turns"))
				})(c.Relearn(ctx, in))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.Conversation, "conversation", "", "only this conversation")
	f.Var(timeFlag{at: &since}, "since", "only what was said later than this: 2026-05-03, yesterday, 90m (ago), …")
	return onMemory(g, cmd)
}
