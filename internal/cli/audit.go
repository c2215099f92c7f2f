package cli

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

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
