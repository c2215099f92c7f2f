package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// pages are the sections as people read them: facts by what became of them and by
// category, and a conversation's summaries before what was said in it.
func (w walker) pages() []section {
	return []section{w.profile, w.contexts, w.grouped, w.talks}
}

// talks yields each conversation, oldest first, with its summaries and turns.
func (w walker) talks(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(TurnPart) && !w.has(SummaryPart) {
		return nil
	}
	all, err := w.conversations(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if err := w.talkPage(ctx, &all[i], yield); err != nil {
			return err
		}
	}
	return nil
}

// talkPage yields a conversation and what is in it; of the past only one in which there was
// something: else it may not have been there yet.
func (w walker) talkPage(ctx context.Context, c *memory.Conversation, yield func(portable.Record) error) error {
	head, begun := portable.Record{Conversation: c}, false
	within := func(r portable.Record) error {
		if !begun {
			begun = true
			if err := yield(head); err != nil {
				return err
			}
		}
		return yield(r)
	}
	if w.has(SummaryPart) {
		if err := w.summariesOf(ctx, c.ID, within); err != nil {
			return err
		}
	}
	if w.has(TurnPart) {
		if err := w.turnsOf(ctx, c.ID, within); err != nil {
			return err
		}
	}
	if !begun && w.At.AsOf.IsZero() {
		return yield(head)
	}
	return nil
}

// paged is a fact that is to be written later.
type paged struct {
	id   string
	past *memory.Fact // as it was, where that is asked
}

// grouped yields the owner's own facts by group, each followed by the relations that begin at
// it. It goes through them once and keeps their ids, some 60 bytes each; of the past,
// facts themselves.
func (w walker) grouped(ctx context.Context, yield func(portable.Record) error) error {
	if !w.has(FactPart) {
		return nil
	}
	groups := map[portable.Group][]paged{}
	err := w.list(ctx, memory.Query{Statuses: w.statuses()}, func(m memory.Memory) error {
		if m.Link != nil || core.WasErased(*m.Fact) {
			return nil
		}
		k := paged{id: m.Fact.ID}
		if !w.At.AsOf.IsZero() {
			k = paged{past: m.Fact}
		}
		g := portable.GroupOf(m.Fact)
		groups[g] = append(groups[g], k)
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range slices.SortedFunc(maps.Keys(groups), portable.Group.Compare) {
		for part := range slices.Chunk(groups[g], 500) {
			if err := w.group(ctx, part, yield); err != nil {
				return err
			}
		}
	}
	return nil
}

// group yields some facts of a group.
func (w walker) group(ctx context.Context, part []paged, yield func(portable.Record) error) error {
	var facts []memory.Memory
	var ids []string
	for _, k := range part {
		if k.past != nil {
			facts = append(facts, memory.Memory{Fact: k.past})
		} else {
			ids = append(ids, k.id)
		}
	}
	if len(ids) > 0 {
		var err error
		if facts, err = w.e.Store.Get(ctx, w.owner, ids...); err != nil {
			return fmt.Errorf("read facts: %w", err)
		}
	}
	for _, m := range facts {
		if err := w.fact(ctx, m, yield); err != nil {
			return err
		}
	}
	return nil
}
