package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/recall"
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

func search(g *global) *cobra.Command {
	var why, cut, chat bool
	var kinds []string
	var topK int
	var q client.SearchRequest
	var at memory.At
	cmd := &cobra.Command{
		Use:   "search QUESTION",
		Short: "Ask memory a question",
		Long: "Ask memory a question. --as-of asks what was known at a time, --valid-at what was true then. A day or longer\n" +
			"(2026-05-03, yesterday, \"last week\") means its end.",
		Example: "  loci search \"where does she live?\" --why\n  loci search \"what do I drink?\" --category food\n  loci search --chat \"What shall I cook tonight?\"\n  loci search \"where does she live?\" --as-of \"last week\"",
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
			q.Block, cut = chat, cut || chat
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := completeChatID(ctx, c, &q.Conversation); err != nil {
					return err
				}
				if chat { // a new conversation, unless one is named
					q.AskedIn, q.Core, q.Conversation = cmp.Or(q.Conversation, rand.Text()), q.Conversation == "", ""
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
					out := explainer{to}
					if chat {
						out.block(found)
					}
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
	f.BoolVar(&why, "why", false, "show why each is there: in plain words, then each stage's number")
	f.BoolVar(&cut, "cut", false, "show what was left out, and by which stage")
	f.BoolVar(&chat, "chat", false, "what a chat would get for this message: the text for its prompt, with the core, and what was left out")
	f.IntVar(&topK, "top-k", 0, "most hits")
	f.StringSliceVar(&kinds, "kind", nil, "fact, turn, summary; all unless given")
	f.StringVar(&q.Project, "project", "", "of this project, and what belongs to none")
	f.StringVar(&q.Filters.Tag, "tag", "", "only with this tag")
	f.StringVar(&q.Filters.Category, "category", "", "only of this category")
	f.StringVar(&q.Conversation, "conversation", "", "only said or learned in this conversation")
	timeFlags(cmd, &at)
	return onMemory(g, cmd)
}

// block writes the text that a chat's prompt would get.
func (w explainer) block(found client.SearchAnswer) {
	switch {
	case found.Block != "":
		w.line("%s\n", harmless(strings.TrimSpace(found.Block)))
	case found.Pause == "memory":
		w.line("memory is on hold, so a chat gets nothing; loci pause none ends that\n")
	default:
		w.line("a chat would get nothing\n")
	}
}

// searched is what a search found and, if asked for, left out.
type searched struct {
	client.SearchAnswer
	Cut []left `json:"cut,omitempty"`
}

func (w explainer) hits(found client.SearchAnswer, why bool) {
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
func (w explainer) hit(score float64, m client.Memory) {
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

// explainer writes what was found, and why.
type explainer struct{ printer }

// why writes the reasons in plain words, and the stages' numbers after them.
func (w explainer) why(why memory.Why) {
	if reasons := recall.Reasons(why); reasons != "" {
		w.line("      because  %s", reasons)
	}
	w.line("      numbers  %s", w.in(dim, recall.Numbers(why)))
}

// reasons say why a stage leaves something out, the last stage first.
var reasons = []struct{ stage, reason string }{
	{"core", "no room left for it in what every prompt begins with"},
	{"budget", "no room left for it"},
	{"top_k", "more than were asked for"},
	{"duplicate", "says the same as a better hit"},
	{"source", "a fact that was learned from it says all of it"},
	{"neighbour", "stands beside what answers the question, and says nothing of it"},
	{"slight", "too short to say anything by itself"},
	{"echo", "the same question, asked before"},
	{"other", "says it of somebody else, or as a mere case"},
	{"carried", "the request holds it already"},
	{"contradicted", "another user shares it, and a fact of the user's own contradicts it"},
	{"limit", "further back than is read from the store"},
	{"threshold", "too little relevance"},
	{"answered", "nothing that was found answers the question well enough"},
}

// left is what recall left out.
type left struct {
	client.Memory
	Cut string     `json:"cut"` // the stage that did it
	Why memory.Why `json:"why"`
}

// leftOut reads what recall left out of an answer, best first in each stage.
func leftOut(ctx context.Context, c *client.Client, t memory.Trace) []left {
	var out []left
	for _, h := range t.Cut {
		m, err := c.Get(ctx, h.ID)
		if err != nil { // of the global pool, or gone by now
			m = client.Memory{ID: h.ID, Kind: h.Kind}
		}
		out = append(out, left{m, h.Cut, h.Why})
	}
	return out
}

// misspelt writes what words of the question were taken for.
func (w explainer) misspelt(words []memory.Misspelt) {
	for _, m := range words {
		fmt.Fprintf(w, "misspelt: %s → %s\n", harmless(m.Word), harmless(strings.Join(m.Meant, ", ")))
	}
}

// models writes what the models that recall asks had to do.
func (w explainer) models(t memory.Trace) {
	if t.Remembered {
		fmt.Fprintln(w, "embedder: the question's vector was remembered")
	}
	if t.RerankOf > 0 {
		fmt.Fprintf(w, "reranker: read %d of %d\n", t.Reranked, t.RerankOf)
	}
}

// cut writes what was left out, under the stage that did it.
func (w explainer) cut(cut []left, why bool) {
	for _, r := range reasons {
		title := fmt.Sprintf("left out by %s: %s\n", r.stage, r.reason)
		for _, l := range cut {
			if l.Cut != r.stage {
				continue
			}
			fmt.Fprint(w, title)
			title = ""
			w.hit(l.Why.Get("score"), l.Memory)
			if why {
				w.why(l.Why)
			}
		}
	}
}
