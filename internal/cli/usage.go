package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func usage(g *global) *cobra.Command {
	var since time.Time
	cmd := &cobra.Command{
		Use:     "usage",
		Short:   "What the learning model was asked and cost, by day",
		Example: "  loci usage\n  loci usage --since \"last week\"",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return show(g, cmd, func(out printer, all client.UsageList) { printUsage(out, all.Usage) })(c.Usage(ctx, since))
		}),
	}
	cmd.Flags().Var(timeFlag{at: &since}, "since", "from this day on: 2026-05-03, yesterday, …")
	return onMemory(g, cmd)
}

func printUsage(w io.Writer, all []memory.Usage) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no model was asked")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "day\tfor\tmodel\tcalls\ttokens in\ttokens out\tcost")
	var sum memory.Usage
	for _, u := range all {
		sum.Add(u)
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%.4f\n", u.Day.Format(time.DateOnly), u.Purpose, brief(u.Model, 40), u.Calls, u.InputTokens, u.OutputTokens, u.Cost)
	}
	fmt.Fprintf(t, "all\t\t\t%d\t%d\t%d\t%.4f\n", sum.Calls, sum.InputTokens, sum.OutputTokens, sum.Cost)
	_ = t.Flush() // an error of w shows when the next line is written
}
