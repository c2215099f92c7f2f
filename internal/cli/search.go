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

func newListCommand(g *sharedState) *cobra.Command {
	var q client.ListQuery
	var at memory.At
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, newest first",
		Long: "List memories, newest first. --as-of shows the memory as it was recorded at a time, --valid-at the facts that were true at a time.\n" +
			"A day or a longer period (2026-05-03, yesterday, \"last week\") means its end.",
		Example: "  loci list --kind fact --tag health\n  loci list --as-of yesterday\n  loci list --status all --text Lisbon",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			q.AsOf, q.ValidAt = at.AsOf, at.ValidAt
			if err := completeChatID(ctx, c, &q.Conversation); err != nil {
				return err
			}
			return printAnswer(g, cmd, printer.printMemories)(c.List(ctx, q))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.Kind, "kind", "", "comma-separated: fact, turn, summary, all (default: fact)")
	f.StringVar(&q.Status, "status", "", "comma-separated statuses: active, pending, superseded (by another fact), retired, rejected, replaced (a message on another branch), all (default: active)")
	f.StringVar(&q.Tag, "tag", "", "only memories with this tag")
	f.StringVar(&q.Category, "category", "", "only memories in this category")
	f.StringVar(&q.Project, "project", "", "only memories in this project")
	f.StringVar(&q.Conversation, "conversation", "", "only messages of this conversation, and facts learned from it")
	f.StringVar(&q.Text, "text", "", "only memories with these words in the text")
	addTimeFlags(cmd, &at)
	f.IntVar(&q.Limit, "limit", 0, "maximum number of memories (default 50)")
	f.StringVar(&q.Cursor, "cursor", "", "show the next page: the cursor that the last page printed")
	return withMemoryFlags(g, cmd)
}

// printMemories prints a list of memories, one per line.
func (s printer) printMemories(page client.Memories) {
	if len(page.Memories) == 0 {
		s.line("no memories found")
	}
	for _, m := range page.Memories {
		mark := ""
		if m.Status != "active" {
			mark = " (" + string(m.Status) + ")"
		}
		if m.Content == "" {
			mark = "(erased)"
		}
		s.line("%s  %s  %s%s", m.ID, m.CreatedAt.Format("2006-01-02"), shorten(m.Content, 120), mark)
	}
	if page.Next != "" {
		s.line("more: --cursor %s", page.Next)
	}
}

func newSearchCommand(g *sharedState) *cobra.Command {
	var why, cut, chat bool
	var kinds []string
	var topK int
	var q client.SearchRequest
	var at memory.At
	cmd := &cobra.Command{
		Use:   "search QUESTION",
		Short: "Search memory with a question",
		Long: "Search memory with a question. --as-of searches the memory as it was recorded at a time, --valid-at the facts that were true at a time.\n" +
			"A day or a longer period (2026-05-03, yesterday, \"last week\") means its end.",
		Example: "  loci search \"where does she live?\" --why\n  loci search \"what do I drink?\" --category food\n  loci search --chat \"What shall I cook tonight?\"\n  loci search \"where does she live?\" --as-of \"last week\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, "")) == "" {
				return memory.Errorf(memory.Invalid, "the question is missing; example: loci search \"where do I live?\"")
			}
			q.Query, q.Explain = strings.Join(args, " "), why || g.asJSON
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
				if chat { // search as in a new conversation, unless --conversation names one
					q.CurrentConversation, q.Core, q.Conversation = cmp.Or(q.Conversation, rand.Text()), q.Conversation == "", ""
				}
				found, err := c.Search(ctx, q)
				if err != nil {
					return err
				}
				answer := searchResult{SearchAnswer: found}
				var trace memory.Trace
				if why || cut {
					if trace, err = c.Trace(ctx, found.Trace); err != nil && cut { // --why also works without the trace
						return fmt.Errorf("read which memories were left out: %w", err)
					}
				}
				if cut {
					answer.LeftOut = leftOutMemories(ctx, c, trace)
				}
				return g.print(cmd.OutOrStdout(), answer, func(to printer) {
					out := hitPrinter{to}
					if chat {
						out.printBlock(found)
					}
					out.printHits(found, why)
					if why {
						out.printMisspelt(found.Misspelt)
					}
					out.printModelUse(trace)
					out.printLeftOut(answer.LeftOut, why)
				})
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&why, "why", false, "show why each memory was found, in words and numbers")
	f.BoolVar(&cut, "cut", false, "show which memories were left out, and by which stage of the search")
	f.BoolVar(&chat, "chat", false, "treat QUESTION as a chat message: show the text that would be added to its prompt, and the memories left out")
	f.IntVar(&topK, "top-k", 0, "maximum number of hits")
	f.StringSliceVar(&kinds, "kind", nil, "comma-separated: fact, turn, summary (default: all)")
	f.StringVar(&q.Project, "project", "", "only memories of this project and memories without a project")
	f.StringVar(&q.Filters.Tag, "tag", "", "only memories with this tag")
	f.StringVar(&q.Filters.Category, "category", "", "only memories in this category")
	f.StringVar(&q.Conversation, "conversation", "", "only messages of this conversation, and facts learned from it")
	addTimeFlags(cmd, &at)
	return withMemoryFlags(g, cmd)
}

// printBlock prints the text that would be added to a chat's prompt.
func (w hitPrinter) printBlock(answer client.SearchAnswer) {
	switch {
	case answer.Block != "":
		w.line("%s\n", sanitize(strings.TrimSpace(answer.Block)))
	case answer.Pause == "memory":
		w.line("memory is paused, so nothing would be added to a chat; loci pause none resumes it\n")
	default:
		w.line("nothing would be added to a chat\n")
	}
}

// searchResult is the answer of a search and, with --cut, the memories that the search left out.
type searchResult struct {
	client.SearchAnswer
	LeftOut []leftOutMemory `json:"cut,omitempty"`
}

func (w hitPrinter) printHits(answer client.SearchAnswer, explain bool) {
	if len(answer.Hits) == 0 {
		fmt.Fprintln(w, "nothing relevant")
	}
	for _, h := range answer.Hits {
		w.printHit(h.Score, h.Memory)
		for _, fact := range h.Now {
			fmt.Fprintf(w, "      but now: %s\n", shorten(fact, 120))
		}
		for _, fact := range h.Was {
			fmt.Fprintf(w, "      before:  %s\n", shorten(fact, 120))
		}
		if explain {
			fmt.Fprintf(w, "      id       %s\n", h.ID)
		}
		if explain && h.Why != nil {
			w.printWhy(*h.Why)
		}
	}
	for _, d := range answer.Degraded {
		fmt.Fprintf(w, "skipped: %s\n", sanitize(d))
	}
}

// printHit prints a memory with the day on which it was observed.
func (w hitPrinter) printHit(score float64, m client.Memory) {
	day := m.CreatedAt
	if !m.ObservedAt.IsZero() {
		day = m.ObservedAt
	}
	fmt.Fprintf(w, "%.2f  %-7s %s  %s\n", score, m.Kind, day.Format("2006-01-02"), shorten(m.Content, 120))
}

// hitPrinter prints hits and the reasons for them.
type hitPrinter struct{ printer }

// printWhy prints the reasons in words, and then the numbers of the stages.
func (w hitPrinter) printWhy(why memory.Why) {
	if reasons := recall.ReasonText(why); reasons != "" {
		w.line("      because  %s", reasons)
	}
	w.line("      numbers  %s", w.styled(dim, recall.PartsText(why)))
}

// leftOutReasons describe why each stage of a search leaves out memories. The last stage comes first.
var leftOutReasons = []struct{ stage, reason string }{
	{"core", "does not fit into the core"},
	{"budget", "does not fit into the token budget"},
	{"top_k", "beyond the requested number of hits"},
	{"duplicate", "says the same as a better hit"},
	{"source", "a fact that was learned from it says the same"},
	{"neighbour", "next to the answer in the conversation, but adds no information"},
	{"slight", "too short to be useful by itself"},
	{"echo", "the same question, asked before"},
	{"other", "about another person, or hypothetical"},
	{"carried", "already in the request"},
	{"contradicted", "shared by another user, but your own fact contradicts it"},
	{"limit", "beyond the maximum number of candidates read from the store"},
	{"threshold", "not relevant enough"},
	{"answered", "no hit answers the question well enough"},
}

// leftOutMemory is a memory that the search left out.
type leftOutMemory struct {
	client.Memory
	Stage string     `json:"cut"` // stage of the search that left out the memory
	Why   memory.Why `json:"why"`
}

// leftOutMemories returns the memories that the search with the trace t left out, best first within each stage.
func leftOutMemories(ctx context.Context, c *client.Client, t memory.Trace) []leftOutMemory {
	var out []leftOutMemory
	for _, h := range t.Cut {
		m, err := c.Get(ctx, h.ID)
		if err != nil { // the memory is in the global pool, or was removed after the search
			m = client.Memory{ID: h.ID, Kind: h.Kind}
		}
		out = append(out, leftOutMemory{m, h.Cut, h.Why})
	}
	return out
}

// printMisspelt prints how the search corrected misspelt words of the question.
func (w hitPrinter) printMisspelt(words []memory.Misspelt) {
	for _, m := range words {
		fmt.Fprintf(w, "misspelt: %s → %s\n", sanitize(m.Word), sanitize(strings.Join(m.Meant, ", ")))
	}
}

// printModelUse prints what the embedder and the reranker did for the search.
func (w hitPrinter) printModelUse(t memory.Trace) {
	if t.Remembered {
		fmt.Fprintln(w, "embedder: the question's vector was cached")
	}
	if t.RerankOf > 0 {
		fmt.Fprintf(w, "reranker: scored %d of %d candidates\n", t.Reranked, t.RerankOf)
	}
}

// printLeftOut prints the memories that the search left out, grouped by stage.
func (w hitPrinter) printLeftOut(memories []leftOutMemory, explain bool) {
	for _, r := range leftOutReasons {
		title := fmt.Sprintf("left out (%s): %s\n", r.stage, r.reason)
		for _, l := range memories {
			if l.Stage != r.stage {
				continue
			}
			fmt.Fprint(w, title)
			title = ""
			w.printHit(l.Why.Get("score"), l.Memory)
			if explain {
				w.printWhy(l.Why)
			}
		}
	}
}
