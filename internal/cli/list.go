package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func list(g *global) *cobra.Command {
	var q client.ListQuery
	var at memory.At
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, newest first",
		Long: "List memories, newest first. --as-of shows what was known at a time, --valid-at what was true then. A day or longer\n" +
			"(2026-05-03, yesterday, \"last week\") means its end.",
		Example: "  loci list --kind fact --tag health\n  loci list --as-of yesterday\n  loci list --status all --text Lisbon",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.AsOf, q.ValidAt = at.AsOf, at.ValidAt
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := completeChatID(ctx, c, &q.Conversation); err != nil {
					return err
				}
				return show(g, cmd, printer.memories)(c.List(ctx, q))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Kind, "kind", "", "fact (unless given), turn, summary, all; several with commas")
	f.StringVar(&q.Status, "status", "", "active (unless given), pending, superseded, retired, rejected, replaced, all; several with commas")
	f.StringVar(&q.Tag, "tag", "", "only with this tag")
	f.StringVar(&q.Category, "category", "", "only of this category")
	f.StringVar(&q.Project, "project", "", "only of this project")
	f.StringVar(&q.Conversation, "conversation", "", "only said or learned in this conversation")
	f.StringVar(&q.Text, "text", "", "only with these words")
	timeFlags(cmd, &at)
	f.IntVar(&q.Limit, "limit", 0, "most memories (50 unless given)")
	f.StringVar(&q.Cursor, "cursor", "", "continue a list")
	return onMemory(g, cmd)
}

// memories writes them, one a line.
func (s printer) memories(page client.Memories) {
	if len(page.Memories) == 0 {
		s.line("nothing yet")
	}
	for _, m := range page.Memories {
		mark := ""
		if m.Status != "active" {
			mark = " (" + string(m.Status) + ")"
		}
		if m.Content == "" {
			mark = "(erased)"
		}
		s.line("%s  %s  %s%s", m.ID, m.CreatedAt.Format("2006-01-02"), brief(m.Content, 120), mark)
	}
	if page.Next != "" {
		s.line("more: --cursor %s", page.Next)
	}
}
