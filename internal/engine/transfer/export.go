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

// The parts of an export, in order. Turns include their conversations, facts include the relations that start
// at them, and the profile includes the contexts, since people write both.
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

// Export streams an owner's memory to dst, with at most one conversation or page of memories in RAM. It may
// include concurrent writes; an export as of a time is consistent. It omits links, erased memories and Loci's
// own settings. After an error the written export is incomplete.
func (e *Transfer) Export(ctx context.Context, owner memory.Owner, opts ExportOptions, dst io.Writer) error {
	if err := opts.Check(); err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(dst, 64<<10)
	reader := exporter{transfer: e, owner: owner, ExportOptions: opts}
	var writer portable.Writer
	sections := []section{reader.yieldProfile, reader.yieldContexts, reader.yieldFactsByGroup, reader.yieldConversationPages}
	switch opts.Format {
	case portable.Zip:
		writer = portable.NewZipWriter(buffered, opts.includes(FactPart))
	case portable.Markdown:
		writer = portable.NewMarkdownWriter(buffered)
	default:
		writer, sections = portable.NewJSONLWriter(buffered), []section{reader.yieldConversationsWithTurns, reader.yieldFacts, reader.yieldSummaries, reader.yieldProfile, reader.yieldContexts}
	}
	if err := reader.writeSections(ctx, writer, sections); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return buffered.Flush()
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

func (t ExportOptions) includes(p Part) bool { return len(t.Parts) == 0 || slices.Contains(t.Parts, p) }

// statuses returns the statuses to export: all, unless statuses or a time of validity are set.
func (t ExportOptions) statuses() []memory.Status {
	if len(t.Statuses) == 0 && t.At.ValidAt.IsZero() {
		return core.AllStatuses
	}
	return t.Statuses
}

// exporter reads an owner's memory for an export.
type exporter struct {
	ExportOptions
	transfer *Transfer
	owner    memory.Owner
}

// section yields the records of one part of an export.
type section func(ctx context.Context, yield func(portable.Record) error) error

// writeSections writes a header and sections to dst.
func (w exporter) writeSections(ctx context.Context, dst portable.Writer, sections []section) error {
	if err := dst.Write(portable.Record{Header: portable.NewHeader(w.transfer.Time(), w.At, w.Project)}); err != nil {
		return err
	}
	for _, yieldSection := range sections {
		if err := yieldSection(ctx, dst.Write); err != nil {
			return err
		}
	}
	return dst.Close()
}

// yieldConversationsWithTurns yields each conversation, oldest first, followed by its turns.
func (w exporter) yieldConversationsWithTurns(ctx context.Context, yield func(portable.Record) error) error {
	if !w.includes(TurnPart) {
		return nil
	}
	return w.eachConversation(ctx, yield, w.yieldTurns)
}

// yieldConversationPages yields each conversation, oldest first, followed by its summaries and turns.
func (w exporter) yieldConversationPages(ctx context.Context, yield func(portable.Record) error) error {
	if !w.includes(TurnPart) && !w.includes(SummaryPart) {
		return nil
	}
	return w.eachConversation(ctx, yield, func(ctx context.Context, conversation string, yield func(portable.Record) error) error {
		if err := w.yieldConversationSummaries(ctx, conversation, yield); err != nil || !w.includes(TurnPart) {
			return err
		}
		return w.yieldTurns(ctx, conversation, yield)
	})
}

// eachConversation yields conversations, oldest first, each followed by its content. As of a past time it
// omits conversations without content, since they may not have existed.
func (w exporter) eachConversation(ctx context.Context, yield func(portable.Record) error, yieldContent func(ctx context.Context, conversation string, yield func(portable.Record) error) error) error {
	conversations, err := w.conversations(ctx)
	if err != nil {
		return err
	}
	for i := range conversations {
		yieldConversation := sync.OnceValue(func() error { return yield(portable.Record{Conversation: &conversations[i]}) })
		err := yieldContent(ctx, conversations[i].ID, func(r portable.Record) error {
			if err := yieldConversation(); err != nil {
				return err
			}
			return yield(r)
		})
		if err == nil && w.At.AsOf.IsZero() {
			err = yieldConversation()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// conversations returns all conversations, which take about 200 bytes each. For a past time, their time of
// change is zero.
func (w exporter) conversations(ctx context.Context) ([]memory.Conversation, error) {
	q := memory.ConversationQuery{Project: w.Project, Statuses: []memory.Status{memory.Active}}
	if slices.Contains(w.statuses(), memory.Retired) || !w.At.AsOf.IsZero() { // includes conversations that were deleted later
		q.Statuses = append(q.Statuses, memory.Retired)
	}
	var list []memory.Conversation
	for c, err := range memory.AllConversations(ctx, w.transfer.Store.Conversations, w.owner, q) {
		if err != nil {
			return nil, fmt.Errorf("list conversations: %w", err)
		}
		if !w.At.AsOf.IsZero() {
			c.UpdatedAt = time.Time{}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b memory.Conversation) int {
		if n := a.CreatedAt.Compare(b.CreatedAt); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, nil
}

// yieldTurns yields a conversation's turns.
func (w exporter) yieldTurns(ctx context.Context, conversation string, yield func(portable.Record) error) error {
	turns, err := w.transfer.Store.Turns(ctx, w.owner, memory.TurnQuery{Conversation: conversation, Statuses: w.statuses(), AsOf: w.At.AsOf})
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

// yieldFacts yields the owner's own facts, each followed by the relations that start at the fact.
func (w exporter) yieldFacts(ctx context.Context, yield func(portable.Record) error) error {
	if !w.includes(FactPart) {
		return nil
	}
	return w.eachMemory(ctx, memory.Query{Statuses: w.statuses()}, func(m memory.Memory) error { return w.yieldFact(ctx, m, yield) })
}

// yieldFactsByGroup yields the facts, ordered by their [portable.FactGroup]. It reads all facts once and stores
// only their ids, about 60 bytes each; for a past time it stores the facts.
func (w exporter) yieldFactsByGroup(ctx context.Context, yield func(portable.Record) error) error {
	if !w.includes(FactPart) {
		return nil
	}
	groups, pastFacts := map[portable.FactGroup][]string{}, map[string]memory.Memory{}
	err := w.eachMemory(ctx, memory.Query{Statuses: w.statuses()}, func(m memory.Memory) error {
		if m.Link != nil {
			return nil
		}
		g := portable.FactGroupOf(m.Fact)
		groups[g] = append(groups[g], m.ID())
		if !w.At.AsOf.IsZero() {
			pastFacts[m.ID()] = m
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range slices.SortedFunc(maps.Keys(groups), portable.FactGroup.Compare) {
		for ids := range slices.Chunk(groups[g], 500) {
			var facts []memory.Memory
			for _, id := range ids {
				facts = append(facts, pastFacts[id])
			}
			if w.At.AsOf.IsZero() {
				if facts, err = w.transfer.Store.Get(ctx, w.owner, ids...); err != nil {
					return fmt.Errorf("read facts: %w", err)
				}
			}
			for _, m := range facts {
				if err := w.yieldFact(ctx, m, yield); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w exporter) yieldFact(ctx context.Context, m memory.Memory, yield func(portable.Record) error) error {
	if m.Link != nil || m.Fact == nil || core.WasErased(*m.Fact) {
		return nil
	}
	if err := yield(portable.Record{Fact: m.Fact}); err != nil || !w.includes(RelationPart) {
		return err
	}
	relations, err := w.transfer.Store.Relations(ctx, w.owner, m.Fact.ID, w.At)
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

func (w exporter) yieldSummaries(ctx context.Context, yield func(portable.Record) error) error {
	return w.yieldConversationSummaries(ctx, "", yield)
}

// yieldConversationSummaries yields the summaries of a conversation or, for "", all summaries.
func (w exporter) yieldConversationSummaries(ctx context.Context, conversation string, yield func(portable.Record) error) error {
	if !w.includes(SummaryPart) {
		return nil
	}
	q := memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation, Statuses: w.statuses()}
	return w.eachMemory(ctx, q, func(m memory.Memory) error {
		if m.Summary.Text == "" { // erased
			return nil
		}
		return yield(portable.Record{Summary: m.Summary})
	})
}

func (w exporter) yieldProfile(ctx context.Context, yield func(portable.Record) error) error {
	if !w.includes(ProfilePart) || w.Project != "" {
		return nil
	}
	entries, err := w.transfer.ProfileEntries(ctx, w.owner, w.At)
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

// yieldContexts yields contexts ordered by id; for a project, only contexts attached to its conversations.
func (w exporter) yieldContexts(ctx context.Context, yield func(portable.Record) error) error {
	if !w.includes(ProfilePart) {
		return nil
	}
	var ids []string
	if w.Project != "" {
		conversations, err := w.conversations(ctx)
		if err != nil {
			return err
		}
		for _, c := range conversations {
			ids = append(ids, c.Contexts...)
		}
		if len(ids) == 0 {
			return nil
		}
	}
	contexts, err := w.transfer.Store.Contexts(ctx, w.owner, w.At, ids...)
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

// eachMemory yields matching memories, newest first, status by status: stores read a single status fast.
func (w exporter) eachMemory(ctx context.Context, q memory.Query, yield func(memory.Memory) error) error {
	q.Project, q.At, q.Limit = w.Project, w.At, 500
	statusSets := [][]memory.Status{q.Statuses}
	if len(q.Statuses) > 1 {
		statusSets = slices.Collect(slices.Chunk(q.Statuses, 1))
	}
	for _, q.Statuses = range statusSets {
		for m, err := range memory.AllMemories(ctx, w.transfer.Store.List, w.owner, q) {
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
