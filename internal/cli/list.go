package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
				page, err := c.List(ctx, q)
				if err != nil {
					return err
				}
				erased, err := erasedAmong(ctx, c, page.Memories)
				if err != nil {
					return err
				}
				return g.print(cmd.OutOrStdout(), page, func(out printer) { out.memories(page, erased) })
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

// erasedAmong returns when those of some memories that have no words were erased, by id.
func erasedAmong(ctx context.Context, c *client.Client, some []client.Memory) (map[string]time.Time, error) {
	erased := map[string]time.Time{}
	wordless := 0
	for _, m := range some {
		if m.Content == "" {
			wordless++
		}
	}
	if wordless == 0 {
		return erased, nil
	}
	for one, err := range c.AllChanges(ctx, client.ChangesQuery{Action: memory.ActionErase}) {
		if err != nil {
			return nil, fmt.Errorf("read what was erased: %w", err)
		}
		_, id, _ := strings.Cut(one.Target, ":")
		if slices.ContainsFunc(some, func(m client.Memory) bool { return m.ID == id && m.Content == "" }) {
			erased[id] = one.CreatedAt
		}
		if len(erased) == wordless {
			break
		}
	}
	return erased, nil
}

// memories writes them, one a line; erased says when the words of some were erased.
func (s printer) memories(page client.Memories, erased map[string]time.Time) {
	if len(page.Memories) == 0 {
		s.line("nothing yet")
	}
	for _, m := range page.Memories {
		mark := ""
		if m.Status != "active" {
			mark = " (" + string(m.Status) + ")"
		}
		if at := erased[m.ID]; !at.IsZero() {
			mark = "(erased " + when(at) + ")"
		}
		s.line("%s  %s  %s%s", m.ID, m.CreatedAt.Format("2006-01-02"), brief(m.Content, 120), mark)
	}
	if page.Next != "" {
		s.line("more: --cursor %s", page.Next)
	}
}
