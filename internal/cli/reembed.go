package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func reembed(g *global) *cobra.Command {
	var dry, all, prune bool
	cmd := &cobra.Command{
		Use:   "reembed",
		Short: "Give memories the vectors that they lack",
		Long: "After the setting embedder has changed, memories get vectors by the new one in the background; until nearly all have\n" +
			"one they are found by their words. This begins at once and shows how far it is. Broken off, it goes on where it was:\n" +
			"a server by itself, without one at the next loci reembed.\n\n" +
			"Vectors of earlier embedders stay, until --prune gives them up once nearly all have one by the embedder in use.",
		Example: "  loci reembed --dry-run\n  LOCI_EMBEDDER=local:all-MiniLM-L6-v2 loci reembed\n  loci reembed --all\n  loci reembed --prune --all",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			switch {
			case prune:
				return pruneVectors(ctx, g, cmd, c, client.PruneRequest{DryRun: dry, All: all})
			case all:
				return reembedAll(ctx, g, cmd, c, dry)
			}
			return reembedMine(ctx, g, cmd, c, dry)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&dry, "dry-run", false, "only say how many they are")
	f.BoolVar(&all, "all", false, "those of all users, and what everybody shares")
	f.BoolVar(&prune, "prune", false, "give up vectors of earlier embedders")
	return onMemory(g, cmd)
}

func reembedMine(ctx context.Context, g *global, cmd *cobra.Command, c *client.Client, dry bool) error {
	first, err := c.Reembed(ctx, client.ReembedRequest{DryRun: dry})
	if err != nil {
		return err
	}
	is := first
	if !dry {
		if err = follow(ctx, cmd.ErrOrStderr(), &is, func() (err error) { is, err = c.Vectors(ctx); return err }); err != nil {
			return err
		}
	}
	return g.print(cmd.OutOrStdout(), is, func(out printer) { printVectors(out, first, is, dry) })
}

func reembedAll(ctx context.Context, g *global, cmd *cobra.Command, c *client.Client, dry bool) error {
	first, err := c.ReembedAll(ctx, client.ReembedRequest{DryRun: dry})
	if err != nil {
		return err
	}
	is := first
	if !dry {
		if err = follow(ctx, cmd.ErrOrStderr(), &is.Vectors, func() (err error) { is, err = c.VectorsOfAll(ctx); return err }); err != nil {
			return err
		}
	}
	return g.print(cmd.OutOrStdout(), is, func(out printer) {
		printVectors(out, first.Vectors, is.Vectors, dry)
		fmt.Fprintf(out, "%d of %d users have all their vectors\n", is.Complete, is.Users)
	})
}

func pruneVectors(ctx context.Context, g *global, cmd *cobra.Command, c *client.Client, in client.PruneRequest) error {
	return show(g, cmd, func(out printer, gone client.Pruned) {
		verb := "given up"
		if in.DryRun {
			verb = "to give up"
		}
		for _, m := range gone.Models {
			users := ""
			if in.All {
				users = fmt.Sprintf(" of %d users", m.Users)
			}
			fmt.Fprintf(out, "%d vectors by %s%s\n", m.Vectors, m.Model, users)
		}
		fmt.Fprintf(out, "%d vectors %s; those by %s stay\n", gone.Vectors, verb, gone.Model)
	})(c.PruneVectors(ctx, in))
}

// lookEvery is how often is asked how far it is.
const lookEvery = 200 * time.Millisecond

// follow shows how far it is until it is done or waits for something; look brings is up
// to date.
func follow(ctx context.Context, w io.Writer, is *client.Vectors, look func() error) error {
	bar := progressOn(w)
	defer bar.end()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for of := int64(is.Memories); is.Lacking > 0 && is.UnderWay && is.Error == ""; {
		bar.count("embedded", of-int64(is.Lacking), of)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := look(); err != nil {
			return err
		}
	}
	return nil
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
		fmt.Fprintf(w, "%d embedded by %s; %d wait: %s\n", given, is.Model, is.Lacking, brief(is.Error, 200))
	default:
		fmt.Fprintf(w, "%d embedded by %s; what it does not take is found by its words: %d\n", given, is.Model, is.Lacking)
	}
}
