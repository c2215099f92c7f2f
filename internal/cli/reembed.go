package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func reembed(g *global) *cobra.Command {
	var in client.ReembedRequest
	cmd := &cobra.Command{
		Use:   "reembed",
		Short: "Give memories the vectors that they lack",
		Long: "After the setting embedder has changed, memories get vectors by the new one in the background; until nearly all have\n" +
			"one they are found by their words. This begins at once and shows how far it is. Broken off, it goes on where it was:\n" +
			"a server by itself, without one at the next loci reembed. Vectors of earlier embedders stay: to go back, set the\n" +
			"earlier one again.",
		Example: "  loci reembed --dry-run\n  LOCI_EMBEDDER=local:all-MiniLM-L6-v2 loci reembed",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				first, err := c.Reembed(ctx, in)
				if err != nil {
					return err
				}
				is := first
				if !in.DryRun {
					if is, err = follow(ctx, c, cmd.ErrOrStderr(), first); err != nil {
						return err
					}
				}
				return g.print(cmd.OutOrStdout(), is, func(w io.Writer) { printVectors(w, first, is, in.DryRun) })
			})
		},
	}
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "only say how many they are")
	return onMemory(g, cmd)
}

// lookEvery is how often is asked how far it is.
const lookEvery = 200 * time.Millisecond

// follow shows how far it is until it is done or waits for something.
func follow(ctx context.Context, c *client.Client, w io.Writer, is client.Vectors) (client.Vectors, error) {
	bar := &progress{w: w, live: w == os.Stderr && isTerminal(os.Stderr)}
	defer bar.end()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for of := int64(is.Memories); is.Lacking > 0 && is.UnderWay && is.Error == ""; {
		bar.at("embedded", of-int64(is.Lacking), of, func(n int64) string { return fmt.Sprint(n) })
		select {
		case <-tick.C:
		case <-ctx.Done():
			return is, ctx.Err()
		}
		next, err := c.Vectors(ctx)
		if err != nil {
			return is, err
		}
		is = next
	}
	return is, nil
}

func printVectors(w io.Writer, first, is client.Vectors, dry bool) {
	given := first.Lacking - is.Lacking
	switch {
	case first.Lacking == 0:
		fmt.Fprintf(w, "nothing to do: no memory of %d lacks a vector by %s\n", is.Memories, is.Model)
	case dry:
		fmt.Fprintf(w, "%d of %d memories lack a vector by %s; to give them one: loci reembed\n", is.Lacking, is.Memories, is.Model)
	case is.Lacking == 0:
		fmt.Fprintf(w, "%d embedded by %s\n", given, is.Model)
	case is.Error != "":
		fmt.Fprintf(w, "%d embedded by %s; %d wait: %s\n", given, is.Model, is.Lacking, said(is.Error, 200))
	default:
		fmt.Fprintf(w, "%d embedded by %s; what it does not take is found by its words: %d\n", given, is.Model, is.Lacking)
	}
}
