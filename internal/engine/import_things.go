package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// things adds the batch's facts, summaries, profile entries, relations and contexts in
// one run.
// Looking for live facts of the same words costs a query each, so at first the store
// is asked to refuse them.
func (i *importer) things(ctx context.Context, batch []portable.Record, there map[string]memory.Memory) error {
	rest := i.fresh(batch, there)
	run := memory.Run{ID: idFor(i.owner, suffixed(i.Idempotency, imports+strconv.Itoa(i.flushes))), Kind: imports, Author: i.author}
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
		case try == maxConflicts || !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate):
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
	case m.Fact != nil && wasErased(*m.Fact):
		return "was erased here and is not brought back"
	case r.Fact != nil && m.Fact.Status != r.Fact.Status:
		return fmt.Sprintf("is %s here and %s in the file", m.Fact.Status, r.Fact.Status)
	case m.Content() != *r.Words():
		return fmt.Sprintf("says %q here and %q in the file", clip(m.Content(), 120), clip(*r.Words(), 120))
	}
	if !was.SameMarks(r) {
		return "has other times or marks here"
	}
	return ""
}

// plan decides what to add of records whose ids are free. careful looks for live facts
// of the same words. skip counts what was left out; it is to be called if the plan is
// carried out.
func (i *importer) plan(ctx context.Context, rest []portable.Record, careful bool) (plan []portable.Record, skip func(), err error) {
	var left []func()
	var profile map[string]string
	live := map[hashIn]bool{}
	for _, r := range rest {
		switch {
		case r.Fact != nil && r.Fact.Status.Live():
			key := hashIn{r.Fact.Scope, r.Fact.Hash}
			twin := live[key] || i.seen[key]
			if !twin && careful {
				if twin, err = i.twin(ctx, *r.Fact); err != nil {
					return nil, nil, err
				}
			}
			if twin {
				left = append(left, func() { i.out.Duplicates++ })
				continue
			}
			live[key] = true
		case r.Profile != nil:
			if profile == nil {
				entries, err := i.e.Store.Profile(ctx, i.owner, memory.At{})
				if err != nil {
					return nil, nil, fmt.Errorf("read the profile: %w", err)
				}
				profile = map[string]string{}
				for _, p := range entries {
					profile[p.Key] = p.Value
				}
			}
			if have, ok := profile[r.Profile.Key]; ok {
				left = append(left, func() { i.thereOr(r, have == r.Profile.Value, "is %q here", clip(have, 120)) })
				continue
			}
		case r.Context != nil:
			found, err := i.e.Store.Contexts(ctx, i.owner, memory.At{}, r.Context.ID)
			if err != nil {
				return nil, nil, fmt.Errorf("read contexts: %w", err)
			}
			if len(found) > 0 {
				diff := differsContext(*r.Context, found[0])
				left = append(left, func() { i.thereOr(r, diff == "", "%s", diff) })
				continue
			}
		case r.Relation != nil:
			known, err := i.e.Store.Relations(ctx, i.owner, r.Relation.From, memory.At{})
			if err != nil {
				return nil, nil, fmt.Errorf("read relations: %w", err)
			}
			if slices.ContainsFunc(known, func(x memory.Relation) bool { return portable.Record{Relation: &x}.Target() == r.Target() }) {
				left = append(left, func() { i.tally(&i.out.There, r) })
				continue
			}
		}
		if careful && (r.Profile != nil || r.Relation != nil || r.Context != nil) {
			gone, err := i.retired(ctx, r)
			if err != nil {
				return nil, nil, err
			}
			if gone {
				left = append(left, func() { i.conflict(r, "was taken out here") })
				continue
			}
		}
		plan = append(plan, r)
	}
	if i.DryRun {
		for key := range live {
			i.seen[key] = true
		}
	}
	return plan, func() {
		for _, f := range left {
			f()
		}
	}, nil
}

// differsContext says how the context that is here differs from one of the file, "" if
// it does not.
func differsContext(file, here memory.Context) string {
	switch {
	case here.Content != file.Content:
		return fmt.Sprintf("says %q here and %q in the file", clip(here.Content, 120), clip(file.Content, 120))
	case here.Title != file.Title:
		return fmt.Sprintf("is titled %q here and %q in the file", clip(here.Title, 120), clip(file.Title, 120))
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
	last, err := i.e.lastChange(ctx, i.owner, r.Target())
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

// embed returns vectors of what facts and summaries say, whatever became of them: they
// may be restored.
func (i *importer) embed(ctx context.Context, rest []portable.Record) ([]memory.Vector, error) {
	var ids, texts []string
	for _, r := range rest {
		if r.Fact != nil || r.Summary != nil {
			ids, texts = append(ids, memory.Memory{Fact: r.Fact, Summary: r.Summary}.ID()), append(texts, *r.Words())
		}
	}
	if len(texts) == 0 {
		return []memory.Vector{}, nil
	}
	values, err := i.e.Embedder.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return nil, fmt.Errorf("embed what is imported: %w", err)
	}
	vectors := make([]memory.Vector, len(ids))
	for n, id := range ids {
		vectors[n] = memory.Vector{Memory: id, Model: i.e.Embedder.Fingerprint(), Values: values[n]}
	}
	return vectors, nil
}
