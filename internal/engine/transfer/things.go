package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// addOtherRecords adds the batch's facts, summaries, profile entries, relations and contexts in one run.
func (i *importer) things(ctx context.Context, batch []portable.Record, there map[string]memory.Memory) error {
	run := memory.Run{ID: core.IDFor(i.owner, exchange.Suffixed(i.Idempotency, importRun+strconv.Itoa(i.flushes))), Kind: importRun, Author: i.author}
	before, again := i.out, false
	return core.Replan(ctx, func() (err error) {
		if again { // another writer is changing the same memories
			i.out = before
			if there, err = i.there(ctx, batch); err != nil {
				return err
			}
		}
		again = true
		plan := planning{importer: i, there: there, met: map[string]bool{}, live: map[hashIn]bool{}}
		for _, r := range batch {
			if add, err := plan.adds(ctx, r); err != nil {
				return err
			} else if add {
				plan.records = append(plan.records, r)
			}
		}
		if i.DryRun {
			maps.Copy(i.seen, plan.live)
		} else if len(plan.records) > 0 {
			if run.Vectors, err = i.embed(ctx, plan.records); err != nil {
				return err
			}
			if _, err = i.e.Store.Apply(ctx, i.owner, run, changesOf(plan.records, i.author)...); errors.Is(err, memory.Duplicate) {
				return memory.Errorf(memory.Conflict, "write imported memories: %w", err)
			} else if err != nil {
				return fmt.Errorf("write imported memories: %w", err)
			}
		}
		i.count(plan.records, run.ID)
		return nil
	})
}

// recordPlan selects the records of a batch to add.
type planning struct {
	*importer
	there   map[string]memory.Memory
	met     map[string]bool // targets that occurred earlier in the batch
	live    map[hashIn]bool // keys of live facts among the records
	records []portable.Record
}

// shouldAdd reports whether to add a record. It counts or reports all other records.
func (p *planning) adds(ctx context.Context, r portable.Record) (bool, error) {
	target := r.Target()
	switch {
	case r.Conversation != nil, r.Turn != nil:
		return false, nil
	case p.met[target] && r.Made:
		p.out.Duplicates++
		return false, nil
	case p.met[target]:
		p.conflict(r, "is in the file twice; the first one is used")
		return false, nil
	}
	p.met[target] = true
	if r.Fact != nil || r.Summary != nil {
		m, ok := p.there[r.Memory().ID()]
		switch {
		case ok && m.Link != nil && !r.Made:
			p.conflict(r, "is another owner's fact in this memory, shown by a link")
			return false, nil
		case ok:
			p.compare(r, portable.Record{Fact: m.Fact, Summary: m.Summary, Turn: m.Turn})
			return false, nil
		case r.Fact != nil && r.Fact.Status.Live():
			return p.addsLive(ctx, *r.Fact)
		}
		return true, nil
	}
	last, err := p.e.LastChange(ctx, p.owner, target)
	switch {
	case err != nil:
		return false, fmt.Errorf("read the journal: %w", err)
	case last.ID == "":
		return true, nil
	case last.After.Status() != memory.Active:
		p.conflict(r, "was removed from this memory")
	default:
		p.compare(r, portable.Record{Profile: last.After.Profile, Relation: last.After.Relation, Context: last.After.Context})
	}
	return false, nil
}

// isNewLiveFact reports whether no other live fact of the same scope has the fact's text.
func (p *planning) addsLive(ctx context.Context, f memory.Fact) (bool, error) {
	key := hashIn{f.Scope, f.Hash}
	twin := p.live[key] || p.seen[key]
	if !twin {
		page, err := p.e.Store.List(ctx, p.owner, memory.Query{Hash: f.Hash, Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 500})
		if err != nil {
			return false, fmt.Errorf("find facts with the same text: %w", err)
		}
		twin = slices.ContainsFunc(page.Memories, func(m memory.Memory) bool { return m.Link == nil && m.Fact.Scope == f.Scope })
	}
	if twin {
		p.out.Duplicates++
	}
	p.live[key] = true
	return !twin, nil
}

// compareExisting counts an existing record, or reports the differences.
func (i *importer) compare(r, was portable.Record) {
	switch words := r.Words(); {
	case r.Made:
		i.tally(&i.out.There, r)
	case was.Target() != r.Target():
		i.conflict(r, "is something else in this memory: %s", was.Target())
	case r.Fact != nil && core.WasErased(*was.Fact):
		i.conflict(r, "was erased from this memory and is not restored")
	case r.Fact != nil && r.Fact.Status != was.Fact.Status:
		i.conflict(r, "is %s in this memory but %s in the file", was.Fact.Status, r.Fact.Status)
	case words != nil && *words != *was.Words():
		i.conflict(r, "says %q in this memory but %q in the file", core.Clip(*was.Words(), 120), core.Clip(*words, 120))
	case r.Profile == nil && r.Relation == nil && !was.SameMarks(r):
		i.conflict(r, "has other times or marks in this memory")
	default:
		i.tally(&i.out.There, r)
	}
}

func (i *importer) tally(to *Tally, r portable.Record) {
	switch {
	case r.Conversation != nil:
		to.Conversations++
	case r.Turn != nil:
		to.Turns++
	case r.Fact != nil:
		to.Facts++
	case r.Summary != nil:
		to.Summaries++
	case r.Profile != nil:
		to.Profile++
	case r.Relation != nil:
		to.Relations++
	case r.Context != nil:
		to.Contexts++
	}
}

// countAdded counts the records that a run added.
func (i *importer) count(added []portable.Record, run string) {
	for _, r := range added {
		i.tally(&i.out.Added, r)
		if r.Fact != nil && r.Fact.Status == memory.Pending {
			i.out.Waiting++
		}
		if len(i.out.Sample) < maxSample {
			i.out.Sample = append(i.out.Sample, r.Image())
		}
	}
	if len(added) > 0 && !i.DryRun && len(i.out.Runs) < maxRuns {
		i.out.Runs = append(i.out.Runs, run)
	}
}

func changesOf(plan []portable.Record, author memory.Author) []memory.Change {
	changes := make([]memory.Change, 0, len(plan))
	for _, r := range plan {
		c := memory.Change{Action: memory.ActionAdd, After: r.Image(), Reason: importReason, Author: author}
		if r.Fact != nil {
			c.NewID = r.Fact.ID
		}
		changes = append(changes, c)
	}
	return changes
}

// embed embeds facts and summaries of all statuses, since inactive memories may be restored.
func (i *importer) embed(ctx context.Context, plan []portable.Record) ([]memory.Vector, error) {
	var ids, texts []string
	for _, r := range plan {
		if r.Fact != nil || r.Summary != nil {
			ids, texts = append(ids, r.Memory().ID()), append(texts, *r.Words())
		}
	}
	vectors, err := i.e.DocumentVectors(ctx, ids, texts)
	if err != nil {
		return nil, fmt.Errorf("embed imported memories: %w", err)
	}
	return vectors, nil
}
