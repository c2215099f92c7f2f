package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func list(g *global) *cobra.Command {
	var q client.ListQuery
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List memories, newest first",
		Example: "  loci list --kind fact --tag health",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				page, err := c.List(ctx, q)
				if err != nil {
					return err
				}
				return g.print(cmd.OutOrStdout(), page, func(w io.Writer) { printMemories(w, page) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Kind, "kind", "", "fact (unless given), turn, summary")
	f.StringVar(&q.Status, "status", "", "active (unless given), pending, superseded, retired, rejected")
	f.StringVar(&q.Tag, "tag", "", "only with this tag")
	f.StringVar(&q.Category, "category", "", "only of this category")
	f.StringVar(&q.Project, "project", "", "only of this project")
	f.StringVar(&q.Text, "text", "", "only with these words")
	f.IntVar(&q.Limit, "limit", 0, "most memories (50 unless given)")
	f.StringVar(&q.Cursor, "cursor", "", "continue a list")
	return onMemory(g, cmd)
}

func printMemories(w io.Writer, page client.Memories) {
	if len(page.Memories) == 0 {
		fmt.Fprintln(w, "nothing yet")
	}
	for _, m := range page.Memories {
		mark := ""
		if m.Status != "active" {
			mark = " (" + string(m.Status) + ")"
		}
		fmt.Fprintf(w, "%s  %s  %s%s\n", m.ID, m.CreatedAt.Format("2006-01-02"), oneLine(m.Content, 120), mark)
	}
	if page.Next != "" {
		fmt.Fprintf(w, "more: --cursor %s\n", page.Next)
	}
}
