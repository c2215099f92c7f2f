package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// things adds the batch's facts, summaries, profile entries, relations and contexts in
// one run. Looking for live facts of the same words costs a query each, so at first the
// store is asked to refuse them.
func (i *importer) things(ctx context.Context, batch []portable.Record, there map[string]memory.Memory) error {
	rest := i.fresh(batch, there)
	run := memory.Run{ID: core.IDFor(i.owner, exchange.Suffixed(i.Idempotency, imports+strconv.Itoa(i.flushes))), Kind: imports, Author: i.author}
	careful := i.DryRun
	var vectors []memory.Vector
	for try := 1; len(rest) > 0; try++ {
		plan, skip, err := i.plan(ctx, rest, careful)
		if err != nil {
			return err
		}
		if !i.DryRun && len(plan) > 0 {
			if vectors == nil {
				if vectors, err = i.embed(ctx, rest); err != nil {
					return err
				}
			}
			run.Vectors = vectors
			_, err = i.e.Store.Apply(ctx, i.owner, run, changesOf(plan, i.author)...)
		}
		switch {
		case err == nil:
			i.count(plan, run.ID)
			skip()
			return nil
		case try == core.MaxConflicts || !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate):
			return fmt.Errorf("write what was imported: %w", err)
		case errors.Is(err, memory.Conflict) && careful: // somebody writes the same things now
			if there, err = i.there(ctx, rest); err != nil {
				return err
			}
			rest = i.fresh(rest, there)
		}
		careful = true
	}
	return nil
}

// fresh leaves out what is there already, and counts or names it.
func (i *importer) fresh(batch []portable.Record, there map[string]memory.Memory) []portable.Record {
	var rest []portable.Record
	met := map[string]bool{}
	for _, r := range batch {
		switch {
		case r.Conversation != nil, r.Turn != nil:
			continue
		case met[r.Target()] && r.Made:
			i.out.Duplicates++
			continue
		case met[r.Target()]:
			i.conflict(r, "stands in the file twice; the first is taken")
			continue
		}
		met[r.Target()] = true
		var id string
		switch {
		case r.Fact != nil:
			id = r.Fact.ID
		case r.Summary != nil:
			id = r.Summary.ID
		}
		m, ok := there[id]
		switch {
		case !ok || id == "":
			rest = append(rest, r)
		case r.Made:
			i.tally(&i.out.There, r)
		default:
			if diff := differs(r, m); diff != "" {
				i.conflict(r, "%s", diff)
			} else {
				i.tally(&i.out.There, r)
			}
		}
	}
	return rest
}

// differs says how what is there differs from a record, "" if it does not.
func differs(r portable.Record, m memory.Memory) string {
	was := portable.Record{Fact: m.Fact, Summary: m.Summary}
	switch {
	case m.Link != nil:
		return "is another owner's fact here, seen by link"
	case was.Target() != r.Target():
		return "is a " + string(m.Kind()) + " here"
	case m.Fact != nil && core.WasErased(*m.Fact):
		return "was erased here and is not brought back"
	case r.Fact != nil && m.Fact.Status != r.Fact.Status:
		return fmt.Sprintf("is %s here and %s in the file", m.Fact.Status, r.Fact.Status)
	case m.Content() != *r.Words():
		return fmt.Sprintf("says %q here and %q in the file", core.Clip(m.Content(), 120), core.Clip(*r.Words(), 120))
	}
	if !was.SameMarks(r) {
		return "has other times or marks here"
	}
	return ""
}

// planning decides what to add of records whose ids are free.
type planning struct {
	*importer
	careful bool              // live facts of the same words are looked for
	live    map[hashIn]bool   // those that it adds
	profile map[string]string // what is there; nil until it was asked for
	adds    []portable.Record
	skips   []func() // count what is left out
}

// plan decides what to add of records whose ids are free. careful looks for live facts
// of the same words. skip counts what was left out; it is to be called if the plan is
// carried out.
func (i *importer) plan(ctx context.Context, rest []portable.Record, careful bool) (plan []portable.Record, skip func(), err error) {
	p := planning{importer: i, careful: careful, live: map[hashIn]bool{}}
	for _, r := range rest {
		skip, err := p.leaves(ctx, r)
		switch {
		case err != nil:
			return nil, nil, err
		case skip != nil:
			p.skips = append(p.skips, skip)
		default:
			p.adds = append(p.adds, r)
		}
	}
	if i.DryRun {
		for key := range p.live {
			i.seen[key] = true
		}
	}
	return p.adds, func() {
		for _, f := range p.skips {
			f()
		}
	}, nil
}

// leaves returns what counts a record that is to be left out, nil for one that is to be
// added.
func (p *planning) leaves(ctx context.Context, r portable.Record) (func(), error) {
	var skip func()
	var err error
	switch {
	case r.Fact != nil:
		return p.leavesFact(ctx, *r.Fact)
	case r.Profile != nil:
		skip, err = p.leavesEntry(ctx, r)
	case r.Context != nil:
		skip, err = p.leavesContext(ctx, r)
	case r.Relation != nil:
		skip, err = p.leavesRelation(ctx, r)
	default:
		return nil, nil
	}
	if skip != nil || err != nil || !p.careful {
		return skip, err
	}
	if gone, err := p.retired(ctx, r); err != nil || !gone {
		return nil, err
	}
	return func() { p.conflict(r, "was taken out here") }, nil
}

func (p *planning) leavesFact(ctx context.Context, f memory.Fact) (func(), error) {
	if !f.Status.Live() {
		return nil, nil
	}
	key := hashIn{f.Scope, f.Hash}
	twin := p.live[key] || p.seen[key]
	if !twin && p.careful {
		var err error
		if twin, err = p.twin(ctx, f); err != nil {
			return nil, err
		}
	}
	if twin {
		return func() { p.out.Duplicates++ }, nil
	}
	p.live[key] = true
	return nil, nil
}

func (p *planning) leavesEntry(ctx context.Context, r portable.Record) (func(), error) {
	if p.profile == nil {
		entries, err := p.e.Store.Profile(ctx, p.owner, memory.At{})
		if err != nil {
			return nil, fmt.Errorf("read the profile: %w", err)
		}
		p.profile = map[string]string{}
		for _, e := range entries {
			p.profile[e.Key] = e.Value
		}
	}
	have, ok := p.profile[r.Profile.Key]
	if !ok {
		return nil, nil
	}
	return func() { p.thereOr(r, have == r.Profile.Value, "is %q here", core.Clip(have, 120)) }, nil
}

func (p *planning) leavesContext(ctx context.Context, r portable.Record) (func(), error) {
	found, err := p.e.Store.Contexts(ctx, p.owner, memory.At{}, r.Context.ID)
	if err != nil {
		return nil, fmt.Errorf("read contexts: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	diff := differsContext(*r.Context, found[0])
	return func() { p.thereOr(r, diff == "", "%s", diff) }, nil
}

func (p *planning) leavesRelation(ctx context.Context, r portable.Record) (func(), error) {
	known, err := p.e.Store.Relations(ctx, p.owner, r.Relation.From, memory.At{})
	if err != nil {
		return nil, fmt.Errorf("read relations: %w", err)
	}
	if !slices.ContainsFunc(known, func(x memory.Relation) bool { return portable.Record{Relation: &x}.Target() == r.Target() }) {
		return nil, nil
	}
	return func() { p.tally(&p.out.There, r) }, nil
}

// differsContext says how the context that is here differs from one of the file, "" if
// it does not.
func differsContext(file, here memory.Context) string {
	switch {
	case here.Content != file.Content:
		return fmt.Sprintf("says %q here and %q in the file", core.Clip(here.Content, 120), core.Clip(file.Content, 120))
	case here.Title != file.Title:
		return fmt.Sprintf("is titled %q here and %q in the file", core.Clip(here.Title, 120), core.Clip(file.Title, 120))
	case !here.CreatedAt.Equal(file.CreatedAt) || !here.UpdatedAt.Equal(file.UpdatedAt):
		return "has other times here"
	}
	return ""
}

func (i *importer) thereOr(r portable.Record, same bool, format string, args ...any) {
	if same {
		i.tally(&i.out.There, r)
		return
	}
	i.conflict(r, format, args...)
}

// retired reports whether a thing that is not active stands under its target.
func (i *importer) retired(ctx context.Context, r portable.Record) (bool, error) {
	last, err := i.e.LastChange(ctx, i.owner, r.Target())
	if err != nil {
		return false, fmt.Errorf("read the journal: %w", err)
	}
	return last.ID != "", nil
}

// twin reports whether a live fact of the same scope says the same.
func (i *importer) twin(ctx context.Context, f memory.Fact) (bool, error) {
	page, err := i.e.Store.List(ctx, i.owner, memory.Query{Hash: f.Hash, Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 500})
	if err != nil {
		return false, fmt.Errorf("look for the same words: %w", err)
	}
	return slices.ContainsFunc(page.Memories, func(m memory.Memory) bool {
		return m.Link == nil && m.Fact.Scope == f.Scope && m.Fact.ID != f.ID
	}), nil
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

// count notes what was added under a run.
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

// embed embeds what facts and summaries say, whatever became of them, since they may be
// restored.
func (i *importer) embed(ctx context.Context, rest []portable.Record) ([]memory.Vector, error) {
	var ids, texts []string
	for _, r := range rest {
		if r.Fact != nil || r.Summary != nil {
			ids, texts = append(ids, memory.Memory{Fact: r.Fact, Summary: r.Summary}.ID()), append(texts, *r.Words())
		}
	}
	vectors, err := i.e.DocumentVectors(ctx, ids, texts)
	if err != nil {
		return nil, fmt.Errorf("embed what is imported: %w", err)
	}
	return vectors, nil
}
