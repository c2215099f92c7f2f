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
func (i *importer) addOtherRecords(ctx context.Context, batch []portable.Record, existing map[string]memory.Memory) error {
	run := memory.Run{ID: core.IDForKey(i.owner, exchange.SubKey(i.IdempotencyKey, importRunKind+strconv.Itoa(i.batchCount))), Kind: importRunKind, Author: i.author}
	report, isRetry := i.report, false
	return core.RetryOnConflict(ctx, func() (err error) {
		if isRetry { // another writer is changing the same memories
			i.report = report
			if existing, err = i.existingMemories(ctx, batch); err != nil {
				return err
			}
		}
		isRetry = true
		plan := recordPlan{importer: i, existing: existing, seenTargets: map[string]bool{}, liveFacts: map[scopedHash]bool{}}
		for _, r := range batch {
			if shouldAdd, err := plan.shouldAdd(ctx, r); err != nil {
				return err
			} else if shouldAdd {
				plan.records = append(plan.records, r)
			}
		}
		if i.DryRun {
			maps.Copy(i.dryRunFacts, plan.liveFacts)
		} else if len(plan.records) > 0 {
			if run.Vectors, err = i.embedRecords(ctx, plan.records); err != nil {
				return err
			}
			if _, err = i.transfer.Store.Apply(ctx, i.owner, run, additionChanges(plan.records, i.author)...); errors.Is(err, memory.Duplicate) {
				return memory.Errorf(memory.Conflict, "write imported memories: %w", err)
			} else if err != nil {
				return fmt.Errorf("write imported memories: %w", err)
			}
		}
		i.countAdded(plan.records, run.ID)
		return nil
	})
}

// recordPlan selects the records of a batch to add.
type recordPlan struct {
	*importer
	existing    map[string]memory.Memory
	seenTargets map[string]bool     // targets that occurred earlier in the batch
	liveFacts   map[scopedHash]bool // keys of the active and pending facts among the records
	records     []portable.Record
}

// shouldAdd reports whether to add a record. It counts a record that is not added, or reports a conflict.
func (p *recordPlan) shouldAdd(ctx context.Context, r portable.Record) (bool, error) {
	target := r.Target()
	switch {
	case r.Conversation != nil, r.Turn != nil:
		return false, nil
	case p.seenTargets[target] && r.Foreign:
		p.report.Duplicates++
		return false, nil
	case p.seenTargets[target]:
		p.reportConflict(r, "is in the file twice; the first record is used")
		return false, nil
	}
	p.seenTargets[target] = true
	if r.Fact != nil || r.Summary != nil {
		m, ok := p.existing[r.Memory().ID()]
		switch {
		case ok && m.Link != nil && !r.Foreign:
			p.reportConflict(r, "is another owner's fact in this memory, shown by a link")
			return false, nil
		case ok:
			p.compareExisting(r, portable.Record{Fact: m.Fact, Summary: m.Summary, Turn: m.Turn})
			return false, nil
		case r.Fact != nil && r.Fact.Status.Live():
			return p.isNewLiveFact(ctx, *r.Fact)
		}
		return true, nil
	}
	last, err := p.transfer.LastChange(ctx, p.owner, target)
	switch {
	case err != nil:
		return false, fmt.Errorf("read the journal: %w", err)
	case last.ID == "":
		return true, nil
	case last.After.Status() != memory.Active:
		p.reportConflict(r, "was removed from this memory")
	default:
		p.compareExisting(r, portable.Record{Profile: last.After.Profile, Relation: last.After.Relation, Context: last.After.Context})
	}
	return false, nil
}

// isNewLiveFact reports whether no other active or pending fact of the same scope has the fact's text.
func (p *recordPlan) isNewLiveFact(ctx context.Context, f memory.Fact) (bool, error) {
	key := scopedHash{f.Scope, f.Hash}
	isDuplicate := p.liveFacts[key] || p.dryRunFacts[key]
	if !isDuplicate {
		page, err := p.transfer.Store.List(ctx, p.owner, memory.Query{Hash: f.Hash, Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 500})
		if err != nil {
			return false, fmt.Errorf("find facts with the same text: %w", err)
		}
		isDuplicate = slices.ContainsFunc(page.Memories, func(m memory.Memory) bool { return m.Link == nil && m.Fact.Scope == f.Scope })
	}
	if isDuplicate {
		p.report.Duplicates++
	}
	p.liveFacts[key] = true
	return !isDuplicate, nil
}

// compareExisting counts an existing record, or reports the differences.
func (i *importer) compareExisting(r, stored portable.Record) {
	switch content := r.Text(); {
	case r.Foreign:
		i.countRecord(&i.report.Existing, r)
	case stored.Target() != r.Target():
		i.reportConflict(r, "is something else in this memory: %s", stored.Target())
	case r.Fact != nil && core.WasErased(*stored.Fact):
		i.reportConflict(r, "was erased from this memory and is not restored")
	case r.Fact != nil && r.Fact.Status != stored.Fact.Status:
		i.reportConflict(r, "is %s in this memory but %s in the file", stored.Fact.Status, r.Fact.Status)
	case content != nil && *content != *stored.Text():
		i.reportConflict(r, "says %q in this memory but %q in the file", core.Clip(*stored.Text(), 120), core.Clip(*content, 120))
	case r.Profile == nil && r.Relation == nil && !stored.EqualExceptText(r):
		i.reportConflict(r, "has other times or properties in this memory")
	default:
		i.countRecord(&i.report.Existing, r)
	}
}

func (i *importer) countRecord(counts *Tally, r portable.Record) {
	switch {
	case r.Conversation != nil:
		counts.Conversations++
	case r.Turn != nil:
		counts.Turns++
	case r.Fact != nil:
		counts.Facts++
	case r.Summary != nil:
		counts.Summaries++
	case r.Profile != nil:
		counts.Profile++
	case r.Relation != nil:
		counts.Relations++
	case r.Context != nil:
		counts.Contexts++
	}
}

// countAdded counts the records that a run added.
func (i *importer) countAdded(added []portable.Record, runID string) {
	for _, r := range added {
		i.countRecord(&i.report.Added, r)
		if r.Fact != nil && r.Fact.Status == memory.Pending {
			i.report.Waiting++
		}
		if len(i.report.Sample) < maxSample {
			i.report.Sample = append(i.report.Sample, r.State())
		}
	}
	if len(added) > 0 && !i.DryRun && len(i.report.Runs) < maxRuns {
		i.report.Runs = append(i.report.Runs, runID)
	}
}

func additionChanges(records []portable.Record, author memory.Author) []memory.Change {
	changes := make([]memory.Change, 0, len(records))
	for _, r := range records {
		c := memory.Change{Action: memory.ActionAdd, After: r.State(), Reason: importReason, Author: author}
		if r.Fact != nil {
			c.NewID = r.Fact.ID
		}
		changes = append(changes, c)
	}
	return changes
}

// embedRecords embeds facts and summaries of all statuses, since inactive memories may be restored.
func (i *importer) embedRecords(ctx context.Context, records []portable.Record) ([]memory.Vector, error) {
	var ids, texts []string
	for _, r := range records {
		if r.Fact != nil || r.Summary != nil {
			ids, texts = append(ids, r.Memory().ID()), append(texts, *r.Text())
		}
	}
	vectors, err := i.transfer.DocumentVectors(ctx, ids, texts)
	if err != nil {
		return nil, fmt.Errorf("embed imported memories: %w", err)
	}
	return vectors, nil
}
