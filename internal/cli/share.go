package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func share(g *global) *cobra.Command {
	var end bool
	cmd := &cobra.Command{
		Use:   "share ID [user/NAME|pool/NAME|global]",
		Short: "Show a fact to somebody else, or see whom it is shown to",
		Long: "The fact stays yours. Another user sees it once they accept it (loci review), unless the server is set otherwise (share.accept); other words wait again.\n" +
			"They see a copy that follows it, and may hide it (loci forget --id) but not change it: forgetting and erasing it reach them.\n" +
			"Where it was said, its tags and its project are not shown. global is everybody; only admins share with it and with pools.",
		Example: "  loci share 0199c5d2-… user/ben\n  loci share 0199c5d2-… user/ben --end\n  loci share 0199c5d2-…",
		Args:    cobra.RangeArgs(1, 2),
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeMemoryIDs(ctx, c, args[:1]); err != nil {
				return err
			}
			shown := show(g, cmd, func(out printer, with client.Shared) {
				out.line("it is shared with %s", brief(cmp.Or(strings.Join(with.With, ", "), "nobody"), 2000))
			})
			switch {
			case len(args) == 1:
				return shown(c.SharedWith(ctx, args[0]))
			case end:
				return shown(c.Unshare(ctx, args[0], args[1]))
			}
			return shown(c.Share(ctx, args[0], args[1]))
		}),
	}
	cmd.Flags().BoolVar(&end, "end", false, "no longer")
	return onMemory(g, cmd)
}
