package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func search(g *global) *cobra.Command {
	var why, cut bool
	var kinds []string
	var topK int
	var q client.SearchRequest
	var at memory.At
	cmd := &cobra.Command{
		Use:   "search QUESTION",
		Short: "Ask memory a question",
		Long: "Ask memory a question. --as-of asks what was known at a time, --valid-at what was true then. A day or longer\n" +
			"(2026-05-03, yesterday, \"last week\") means its end.",
		Example: "  loci search \"where does she live?\" --why\n  loci search \"what do I drink?\" --category food\n  loci search \"where does she live?\" --as-of \"last week\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, "")) == "" {
				return memory.Errorf(memory.Invalid, "ask something: loci search \"where do I live?\"")
			}
			q.Query, q.Explain = strings.Join(args, " "), why || g.json
			for _, k := range kinds {
				q.Kinds = append(q.Kinds, memory.Kind(k))
			}
			if !at.AsOf.IsZero() {
				q.AsOf = &at.AsOf
			}
			if !at.ValidAt.IsZero() {
				q.ValidAt = &at.ValidAt
			}
			if cmd.Flags().Changed("top-k") {
				q.TopK = &topK
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := completeChatID(ctx, c, &q.Conversation); err != nil {
					return err
				}
				found, err := c.Search(ctx, q)
				if err != nil {
					return err
				}
				answer := searched{SearchAnswer: found}
				var trace memory.Trace
				if why || cut {
					if trace, err = c.Trace(ctx, found.Trace); err != nil && cut { // the hits have their whys without
						return fmt.Errorf("read what was left out: %w", err)
					}
				}
				if cut {
					answer.Cut = leftOut(ctx, c, trace)
				}
				return g.print(cmd.OutOrStdout(), answer, func(to printer) {
					out := &explainer{to, map[string]bool{}}
					out.hits(found, why)
					if why {
						out.misspelt(found.Misspelt)
					}
					out.models(trace)
					out.cut(answer.Cut, why)
				})
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&why, "why", false, "show how each score came about, a row for each stage's number")
	f.BoolVar(&cut, "cut", false, "show what was left out, and by which stage")
	f.IntVar(&topK, "top-k", 0, "most hits")
	f.StringSliceVar(&kinds, "kind", nil, "fact, turn, summary; all unless given")
	f.StringVar(&q.Project, "project", "", "of this project, and what belongs to none")
	f.StringVar(&q.Filters.Tag, "tag", "", "only with this tag")
	f.StringVar(&q.Filters.Category, "category", "", "only of this category")
	f.StringVar(&q.Conversation, "conversation", "", "only said or learned in this conversation")
	timeFlags(cmd, &at)
	return onMemory(g, cmd)
}

// searched is what a search found and, if asked for, left out.
type searched struct {
	client.SearchAnswer
	Cut []left `json:"cut,omitempty"`
}

func (w *explainer) hits(found client.SearchAnswer, why bool) {
	if len(found.Hits) == 0 {
		fmt.Fprintln(w, "nothing relevant")
	}
	for _, h := range found.Hits {
		w.hit(h.Score, h.Memory)
		for _, fact := range h.Now {
			fmt.Fprintf(w, "      but now: %s\n", brief(fact, 120))
		}
		for _, fact := range h.Was {
			fmt.Fprintf(w, "      before:  %s\n", brief(fact, 120))
		}
		if why {
			fmt.Fprintf(w, "      id       %s\n", h.ID)
		}
		if why && h.Why != nil {
			w.why(*h.Why)
		}
	}
	for _, d := range found.Degraded {
		fmt.Fprintf(w, "skipped: %s\n", harmless(d))
	}
}

// hit writes a memory with the day on which it was said, which is that of a prompt, too.
func (w *explainer) hit(score float64, m client.Memory) {
	day := m.CreatedAt
	if !m.ObservedAt.IsZero() {
		day = m.ObservedAt
	}
	fmt.Fprintf(w, "%.2f  %-7s %s  %s\n", score, m.Kind, day.Format("2006-01-02"), brief(m.Content, 120))
}

// oneLine returns s on one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
