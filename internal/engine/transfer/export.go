package transfer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// Part is a kind of thing that an export holds.
type Part string

// The parts, in the order they are written. Conversations come with their turns,
// relations with the facts that they begin at, contexts with the profile: both are
// written by hand and belong to no project.
const (
	TurnPart     Part = "turns"
	FactPart     Part = "facts"
	SummaryPart  Part = "summaries"
	ProfilePart  Part = "profile"
	RelationPart Part = "relations"
)

// allParts are all of them.
var allParts = []Part{TurnPart, FactPart, SummaryPart, ProfilePart, RelationPart}

// ExportOptions is what an export holds. The zero Taking is everything.
type ExportOptions struct {
	Format   portable.Format // "": JSONL
	Parts    []Part          // none: all
	Statuses []memory.Status
	Project  string // only what belongs to it; without the profile, which belongs to no project
	At       memory.At
}

// Export writes what an owner has to w, as it goes: it holds a conversation, or a page
// of memories, at a time. What is written meanwhile may be in it or not; as of a time it
// is whole. Left out are facts seen by link, which belong to others, what was erased, and
// Loci's own settings. An error after the first byte leaves an export that is not whole.
func (e *Transfer) Export(ctx context.Context, owner memory.Owner, t ExportOptions, w io.Writer) error {
	if err := t.Check(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	walk := walker{e: e, owner: owner, ExportOptions: t}
	var to portable.Writer
	sections := walk.pages()
	switch t.Format {
	case portable.Zip:
		to = portable.Pages(out, t.has(FactPart))
	case portable.Markdown:
		to = portable.Page(out)
	default:
		to, sections = portable.Lines(out), []section{walk.talk, walk.facts, walk.summaries, walk.profile, walk.contexts}
	}
	if err := walk.write(ctx, to, sections); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return out.Flush()
}

// Check reports as [memory.Invalid] what no export can hold, before anything is written.
func (t ExportOptions) Check() error {
	if f := []portable.Format{"", portable.JSONL, portable.Markdown, portable.Zip}; !slices.Contains(f, t.Format) {
		return memory.Errorf(memory.Invalid, "format: %q is none of %v", t.Format, f[1:])
	}
	for _, p := range t.Parts {
		if !slices.Contains(allParts, p) {
			return memory.Errorf(memory.Invalid, "parts: %q is none of %v", p, allParts)
		}
	}
	return nil
}

func (t ExportOptions) has(p Part) bool { return len(t.Parts) == 0 || slices.Contains(t.Parts, p) }

// statuses are those of what was true at a time, if that is asked, else every one.
func (t ExportOptions) statuses() []memory.Status {
	if len(t.Statuses) == 0 && t.At.ValidAt.IsZero() {
		return core.EveryStatus
	}
	return t.Statuses
}

// walker goes through an owner's memory.
type walker struct {
	ExportOptions
	e     *Transfer
	owner memory.Owner
}

// section yields a part of what is taken away, record by record.
type section func(ctx context.Context, yield func(portable.Record) error) error

// write writes sections behind a header.
func (w walker) write(ctx context.Context, to portable.Writer, sections []section) error {
	if err := to.Write(portable.Record{Header: portable.NewHeader(w.e.Time(), w.At, w.Project)}); err != nil {
		return err
	}
	for _, yields := range sections {
		if err := yields(ctx, to.Write); err != nil {
			return err
		}
	}
	return to.Close()
}

// talk yields each conversation, oldest first, and its turns.
func (w walker) talk(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(TurnPart) {
		return nil
	}
	all, err := w.conversations(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		turns, err := w.turns(ctx, all[i].ID)
		if err != nil {
			return err
		}
		if len(turns) == 0 && !w.At.AsOf.IsZero() {
			continue // it may not have been there yet
		}
		if err := yield(portable.Record{Conversation: &all[i]}); err != nil {
			return err
		}
		if err := eachTurn(turns, yield); err != nil {
			return err
		}
	}
	return nil
}

// conversations returns all of them, some 200 bytes each. When they were last
// changed is not known of the past.
func (w walker) conversations(ctx context.Context) ([]memory.Conversation, error) {
	q := memory.ConversationQuery{Project: w.Project, Statuses: []memory.Status{memory.Active}}
	if slices.Contains(w.statuses(), memory.Retired) || !w.At.AsOf.IsZero() { // it may have been deleted since
		q.Statuses = append(q.Statuses, memory.Retired)
	}
	var all []memory.Conversation
	for c, err := range memory.AllConversations(ctx, w.e.Store.Conversations, w.owner, q) {
		if err != nil {
			return nil, fmt.Errorf("list conversations: %w", err)
		}
		if !w.At.AsOf.IsZero() {
			c.UpdatedAt = time.Time{}
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b memory.Conversation) int {
		if n := a.CreatedAt.Compare(b.CreatedAt); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}

// turnsOf yields what was said in a conversation.
func (w walker) turnsOf(ctx context.Context, conversation string, yield func(portable.Record) error) error {
	turns, err := w.turns(ctx, conversation)
	if err != nil {
		return err
	}
	return eachTurn(turns, yield)
}

func eachTurn(turns []memory.Turn, yield func(portable.Record) error) error {
	for i := range turns {
		if err := yield(portable.Record{Turn: &turns[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (w walker) turns(ctx context.Context, conversation string) ([]memory.Turn, error) {
	turns, err := w.e.Store.Turns(ctx, w.owner, memory.TurnQuery{Conversation: conversation, Statuses: w.statuses(), AsOf: w.At.AsOf})
	if err != nil {
		return nil, fmt.Errorf("list turns: %w", err)
	}
	return turns, nil
}

// facts yields the owner's own facts, newest first, each followed by the relations
// that begin at it.
func (w walker) facts(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(FactPart) {
		return nil
	}
	return w.list(ctx, memory.Query{Statuses: w.statuses()}, func(m memory.Memory) error { return w.fact(ctx, m, yield) })
}

func (w walker) fact(ctx context.Context, m memory.Memory, yield func(portable.Record) error) error {
	if m.Link != nil || m.Fact == nil || core.WasErased(*m.Fact) {
		return nil
	}
	if err := yield(portable.Record{Fact: m.Fact}); err != nil || !w.has(RelationPart) {
		return err
	}
	relations, err := w.e.Store.Relations(ctx, w.owner, m.Fact.ID, w.At)
	if err != nil {
		return fmt.Errorf("list relations: %w", err)
	}
	for _, r := range relations {
		if r.From != m.Fact.ID {
			continue
		}
		if err := yield(portable.Record{Relation: &r}); err != nil {
			return err
		}
	}
	return nil
}

// summaries yields them, newest first.
func (w walker) summaries(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(SummaryPart) {
		return nil
	}
	return w.summariesOf(ctx, "", yield)
}

func (w walker) summariesOf(ctx context.Context, conversation string, yield func(portable.Record) error) error {
	q := memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation, Statuses: w.statuses()}
	return w.list(ctx, q, func(m memory.Memory) error {
		if m.Summary.Text == "" { // erased
			return nil
		}
		return yield(portable.Record{Summary: m.Summary})
	})
}

func (w walker) profile(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(ProfilePart) || w.Project != "" {
		return nil
	}
	entries, err := w.e.Store.Profile(ctx, w.owner, w.At)
	if err != nil {
		return fmt.Errorf("list the profile: %w", err)
	}
	for _, p := range core.Told(entries) {
		if err := yield(portable.Record{Profile: &p}); err != nil {
			return err
		}
	}
	return nil
}

// contexts yields them in order of id: with a project those that its conversations name.
func (w walker) contexts(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(ProfilePart) {
		return nil
	}
	var ids []string
	if w.Project != "" {
		all, err := w.conversations(ctx)
		if err != nil {
			return err
		}
		for _, c := range all {
			ids = append(ids, c.Contexts...)
		}
		if len(ids) == 0 {
			return nil
		}
	}
	contexts, err := w.e.Store.Contexts(ctx, w.owner, w.At, ids...)
	if err != nil {
		return fmt.Errorf("list contexts: %w", err)
	}
	for i := range contexts {
		if err := yield(portable.Record{Context: &contexts[i]}); err != nil {
			return err
		}
	}
	return nil
}

// list goes through what matches, newest first, page by page. Each status is a list of
// its own, which stores can read in order without sorting all of them for each page;
// of the past there is no such order.
func (w walker) list(ctx context.Context, q memory.Query, yield func(memory.Memory) error) error {
	q.Project, q.At, q.Limit = w.Project, w.At, 500
	lists := []*pages{{Query: q}}
	if len(q.Statuses) > 1 && q.At.AsOf.IsZero() {
		lists = nil
		for _, s := range q.Statuses {
			one := q
			one.Statuses = []memory.Status{s}
			lists = append(lists, &pages{Query: one})
		}
	}
	for {
		var newest *pages
		for _, l := range lists {
			if err := l.fill(ctx, w); err != nil {
				return err
			}
			if len(l.ahead) > 0 && (newest == nil || newer(l.ahead[0], newest.ahead[0])) {
				newest = l
			}
		}
		if newest == nil {
			return nil
		}
		m := newest.ahead[0]
		newest.ahead = newest.ahead[1:]
		if err := yield(m); err != nil {
			return err
		}
	}
}

// newer reports whether a stands before b in a list.
func newer(a, b memory.Memory) bool {
	if n := a.CreatedAt().Compare(b.CreatedAt()); n != 0 {
		return n > 0
	}
	return a.ID() > b.ID()
}

// pages is a list that is read page by page.
type pages struct {
	memory.Query
	ahead []memory.Memory // of the page that is read
	ended bool
}

// fill reads the next page where nothing is left of the last.
func (p *pages) fill(ctx context.Context, w walker) error {
	for len(p.ahead) == 0 && !p.ended {
		page, err := w.e.Store.List(ctx, w.owner, p.Query)
		if err != nil {
			return fmt.Errorf("list memories: %w", err)
		}
		p.ahead, p.Cursor, p.ended = page.Memories, page.Next, page.Next == ""
	}
	return nil
}
