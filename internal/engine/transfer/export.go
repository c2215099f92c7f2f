package transfer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// Part is a kind of record that an export can include.
type Part string

// The parts of an export, in order. Turns include their conversations, facts include the relations that
// start at them, and the profile includes the contexts: people write both.
const (
	TurnPart     Part = "turns"
	FactPart     Part = "facts"
	SummaryPart  Part = "summaries"
	ProfilePart  Part = "profile"
	RelationPart Part = "relations"
)

// allParts lists all parts.
var allParts = []Part{TurnPart, FactPart, SummaryPart, ProfilePart, RelationPart}

// ExportOptions select the content of an export. The zero value selects everything.
type ExportOptions struct {
	Format   portable.Format // empty: JSONL
	Parts    []Part          // empty: all parts
	Statuses []memory.Status
	Project  string // export only memory of this project, without the profile; "": all memory
	At       memory.At
}

// Export streams an owner's memory to w, with at most one conversation or page of memories in RAM. It may
// include concurrent writes; an export as of a time is consistent. It omits links, erased memories and
// Loci's own settings. After an error the written export is incomplete.
func (e *Transfer) Export(ctx context.Context, owner memory.Owner, t ExportOptions, w io.Writer) error {
	if err := t.Check(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	walk := walker{e: e, owner: owner, ExportOptions: t}
	var to portable.Writer
	sections := []section{walk.profile, walk.contexts, walk.groups, walk.talkPages}
	switch t.Format {
	case portable.Zip:
		to = portable.Pages(out, t.has(FactPart))
	case portable.Markdown:
		to = portable.Page(out)
	default:
		to, sections = portable.Lines(out), []section{walk.talks, walk.facts, walk.summaries, walk.profile, walk.contexts}
	}
	if err := walk.write(ctx, to, sections); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return out.Flush()
}

// Check returns [memory.Invalid] for invalid options. Call it before writing.
func (t ExportOptions) Check() error {
	if f := []portable.Format{"", portable.JSONL, portable.Markdown, portable.Zip}; !slices.Contains(f, t.Format) {
		return memory.Errorf(memory.Invalid, "format: invalid value %q (valid: %v)", t.Format, f[1:])
	}
	for _, p := range t.Parts {
		if !slices.Contains(allParts, p) {
			return memory.Errorf(memory.Invalid, "parts: invalid value %q (valid: %v)", p, allParts)
		}
	}
	return nil
}

func (t ExportOptions) has(p Part) bool { return len(t.Parts) == 0 || slices.Contains(t.Parts, p) }

// statuses returns the statuses to export: all, unless statuses or a time of validity are set.
func (t ExportOptions) statuses() []memory.Status {
	if len(t.Statuses) == 0 && t.At.ValidAt.IsZero() {
		return core.EveryStatus
	}
	return t.Statuses
}

// exporter reads an owner's memory for an export.
type walker struct {
	ExportOptions
	e     *Transfer
	owner memory.Owner
}

// section yields the records of one part of an export.
type section func(ctx context.Context, yield func(portable.Record) error) error

// writeSections writes a header and sections to dst.
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

// conversationsWithTurns yields each conversation, oldest first, followed by its turns.
func (w walker) talks(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(TurnPart) {
		return nil
	}
	return w.eachTalk(ctx, yield, w.turns)
}

// conversationPages yields each conversation, oldest first, followed by its summaries and turns.
func (w walker) talkPages(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(TurnPart) && !w.has(SummaryPart) {
		return nil
	}
	return w.eachTalk(ctx, yield, func(ctx context.Context, conversation string, yield func(portable.Record) error) error {
		if err := w.summariesOf(ctx, conversation, yield); err != nil || !w.has(TurnPart) {
			return err
		}
		return w.turns(ctx, conversation, yield)
	})
}

// eachConversation yields conversations, oldest first, each followed by its content. As of a past time it
// omits conversations without content, since they may not have existed.
func (w walker) eachTalk(ctx context.Context, yield func(portable.Record) error, within func(ctx context.Context, conversation string, yield func(portable.Record) error) error) error {
	all, err := w.conversations(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		begin := sync.OnceValue(func() error { return yield(portable.Record{Conversation: &all[i]}) })
		err := within(ctx, all[i].ID, func(r portable.Record) error {
			if err := begin(); err != nil {
				return err
			}
			return yield(r)
		})
		if err == nil && w.At.AsOf.IsZero() {
			err = begin()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// conversations returns all conversations, about 200 bytes each. As of a past time they have no time of
// change.
func (w walker) conversations(ctx context.Context) ([]memory.Conversation, error) {
	q := memory.ConversationQuery{Project: w.Project, Statuses: []memory.Status{memory.Active}}
	if slices.Contains(w.statuses(), memory.Retired) || !w.At.AsOf.IsZero() { // deleted later
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

// turns yields a conversation's turns.
func (w walker) turns(ctx context.Context, conversation string, yield func(portable.Record) error) error {
	turns, err := w.e.Store.Turns(ctx, w.owner, memory.TurnQuery{Conversation: conversation, Statuses: w.statuses(), AsOf: w.At.AsOf})
	if err != nil {
		return fmt.Errorf("list turns: %w", err)
	}
	for i := range turns {
		if err := yield(portable.Record{Turn: &turns[i]}); err != nil {
			return err
		}
	}
	return nil
}

// facts yields the owner's own facts, each followed by the relations that start at the fact.
func (w walker) facts(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(FactPart) {
		return nil
	}
	return w.list(ctx, memory.Query{Statuses: w.statuses()}, func(m memory.Memory) error { return w.fact(ctx, m, yield) })
}

// factsByGroup yields the facts by group. It reads all facts once, and stores only their ids, about 60
// bytes each, or the facts for a past time.
func (w walker) groups(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(FactPart) {
		return nil
	}
	groups, past := map[portable.Group][]string{}, map[string]memory.Memory{}
	err := w.list(ctx, memory.Query{Statuses: w.statuses()}, func(m memory.Memory) error {
		if m.Link != nil {
			return nil
		}
		g := portable.GroupOf(m.Fact)
		groups[g] = append(groups[g], m.ID())
		if !w.At.AsOf.IsZero() {
			past[m.ID()] = m
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range slices.SortedFunc(maps.Keys(groups), portable.Group.Compare) {
		for part := range slices.Chunk(groups[g], 500) {
			var facts []memory.Memory
			for _, id := range part {
				facts = append(facts, past[id])
			}
			if w.At.AsOf.IsZero() {
				if facts, err = w.e.Store.Get(ctx, w.owner, part...); err != nil {
					return fmt.Errorf("read facts: %w", err)
				}
			}
			for _, m := range facts {
				if err := w.fact(ctx, m, yield); err != nil {
					return err
				}
			}
		}
	}
	return nil
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

func (w walker) summaries(ctx context.Context, yield func(portable.Record) error) error {
	return w.summariesOf(ctx, "", yield)
}

// conversationSummaries yields the summaries of a conversation, or all summaries.
func (w walker) summariesOf(ctx context.Context, conversation string, yield func(portable.Record) error) error {
	if !w.has(SummaryPart) {
		return nil
	}
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
	entries, err := w.e.Entries(ctx, w.owner, w.At)
	if err != nil {
		return fmt.Errorf("list the profile: %w", err)
	}
	for _, p := range entries {
		if err := yield(portable.Record{Profile: &p}); err != nil {
			return err
		}
	}
	return nil
}

// contexts yields contexts ordered by id; for a project, only contexts attached to its conversations.
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

// eachMemory yields matching memories by status, newest first, which stores can read fast.
func (w walker) list(ctx context.Context, q memory.Query, yield func(memory.Memory) error) error {
	q.Project, q.At, q.Limit = w.Project, w.At, 500
	each := [][]memory.Status{q.Statuses}
	if len(q.Statuses) > 1 {
		each = slices.Collect(slices.Chunk(q.Statuses, 1))
	}
	for _, q.Statuses = range each {
		for m, err := range memory.AllMemories(ctx, w.e.Store.List, w.owner, q) {
			if err != nil {
				return fmt.Errorf("list memories: %w", err)
			}
			if err := yield(m); err != nil {
				return err
			}
		}
	}
	return nil
}
