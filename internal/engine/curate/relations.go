package curate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// RelationKinds lists the kinds of relations between facts.
var RelationKinds = []memory.RelationKind{memory.SameSubject, memory.Refines, memory.Contradicts, memory.Follows}

// Relate adds a relation between an owner's facts, in a run that can be undone. If the relation exists,
// nothing changes and the receipt is zero. It returns [memory.NotFound] for facts of other owners, and
// [memory.Invalid] for an unknown kind or for a relation of a fact to itself.
func (e *Curator) Relate(ctx context.Context, owner memory.Owner, fromID, toID string, kind memory.RelationKind, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	switch {
	case !slices.Contains(RelationKinds, kind):
		return memory.Receipt{}, memory.Errorf(memory.Invalid, "kind: invalid value %q (valid: %v)", kind, RelationKinds)
	case fromID == toID:
		return memory.Receipt{}, memory.Errorf(memory.Invalid, "a fact cannot be related to itself")
	}
	for _, id := range []string{fromID, toID} {
		f, err := e.Fact(ctx, owner, id)
		if err != nil {
			return memory.Receipt{}, err
		}
		if core.WasErased(f) {
			return memory.Receipt{}, core.ErrErased("fact:" + id)
		}
	}
	if _, err := e.Relation(ctx, owner, fromID, toID, kind); !errors.Is(err, memory.NotFound) {
		return memory.Receipt{}, err
	}
	relation := memory.Relation{Owner: owner, From: fromID, To: toID, Kind: kind, Status: memory.Active, CreatedAt: e.Time()}
	run := memory.Run{ID: core.NewID(), Kind: "manual", Author: author}
	change := memory.Change{Action: memory.ActionAdd, After: memory.State{Relation: &relation}, Reason: "related by hand"}
	return core.ApplyOrRestore(ctx, e.Core, owner, run, change)
}

// Unrelate ends a relation in a run that can be undone, or returns [memory.NotFound].
func (e *Curator) Unrelate(ctx context.Context, owner memory.Owner, fromID, toID string, kind memory.RelationKind, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	relation, err := e.Relation(ctx, owner, fromID, toID, kind)
	if err != nil {
		return memory.Receipt{}, err
	}
	base := relation.Version
	relation.Status = memory.Retired
	run := memory.Run{ID: core.NewID(), Kind: "manual", Author: author}
	return e.Store.Apply(ctx, owner, run, memory.Change{
		Action: memory.ActionRetire, After: memory.State{Relation: &relation}, Base: base, Reason: "the relation was ended by hand",
	})
}

// Relation returns an active relation, or [memory.NotFound].
func (e *Curator) Relation(ctx context.Context, owner memory.Owner, fromID, toID string, kind memory.RelationKind) (memory.Relation, error) {
	relations, err := e.Store.Relations(ctx, owner, fromID, memory.At{})
	if err != nil {
		return memory.Relation{}, fmt.Errorf("read relations: %w", err)
	}
	for _, t := range relations {
		if t.From == fromID && t.To == toID && t.Kind == kind {
			return t, nil
		}
	}
	return memory.Relation{}, memory.Errorf(memory.NotFound, "no such relation")
}

// RelationGraph is a fact with the facts that relations connect to it.
type RelationGraph struct {
	Facts     []memory.Fact     // the requested fact first, then by distance
	Distances []int             // number of relations between the requested fact and each fact, in the order of Facts
	Relations []memory.Relation // relations between these facts, without duplicates
	HasMore   bool              // true if the limit excluded facts
}

// RelatedFacts follows a fact's relations in both directions, at most maxSteps relations far, to at most
// limit facts. It returns the relations and facts as of a time, without erased facts.
func (e *Curator) RelatedFacts(ctx context.Context, owner memory.Owner, id string, at memory.At, maxSteps, limit int) (RelationGraph, error) {
	first, err := e.Fact(ctx, owner, id)
	if err != nil {
		return RelationGraph{}, err
	}
	if at != (memory.At{}) {
		m, err := e.Retrieve.GetAt(ctx, owner, id, at)
		if err != nil {
			return RelationGraph{}, err
		}
		first = *m.Fact
	}
	related := RelationGraph{Facts: []memory.Fact{first}, Distances: []int{0}}
	visited, position := map[string]bool{id: true}, map[string]int{id: 0}
	var allRelations []memory.Relation
	for i := 0; i < len(related.Facts) && related.Distances[i] < maxSteps; i++ {
		relations, err := e.Store.Relations(ctx, owner, related.Facts[i].ID, at)
		if err != nil {
			return RelationGraph{}, fmt.Errorf("read relations: %w", err)
		}
		allRelations = append(allRelations, relations...)
		for _, t := range relations {
			next := t.To
			if next == related.Facts[i].ID {
				next = t.From
			}
			if visited[next] {
				continue
			}
			if len(related.Facts) == limit {
				related.HasMore = true
				continue
			}
			visited[next] = true
			m, err := e.Retrieve.GetAt(ctx, owner, next, at)
			if err != nil && !errors.Is(err, memory.NotFound) {
				return RelationGraph{}, fmt.Errorf("read the related facts: %w", err)
			}
			if m.Fact == nil || m.Content() == "" {
				continue
			}
			position[next] = len(related.Facts)
			related.Facts, related.Distances = append(related.Facts, *m.Fact), append(related.Distances, related.Distances[i]+1)
		}
	}
	seen := map[string]bool{}
	for _, t := range allRelations {
		_, hasFrom := position[t.From]
		_, hasTo := position[t.To]
		if target := (memory.State{Relation: &t}).Target(); hasFrom && hasTo && !seen[target] {
			seen[target] = true
			related.Relations = append(related.Relations, t)
		}
	}
	return related, nil
}

// DerivedRelation is a relation that is derived from a fact's history or text.
type DerivedRelation struct {
	memory.Relation
	OtherFact memory.Fact
}

// Bounds for derived relations: changes in a fact's journal, and facts with the same subject.
const (
	maxJournalChanges = 200
	maxSubjectFacts   = 20
)

// DerivedRelations returns relations derived from history and text: to the facts that replaced the fact
// or that it replaced, to its pending replacements, and to other facts about the same person or thing.
// They are computed at each call.
func (e *Curator) DerivedRelations(ctx context.Context, owner memory.Owner, id string, at memory.At) ([]DerivedRelation, error) {
	m, err := e.Retrieve.GetAt(ctx, owner, id, at)
	if err != nil {
		return nil, err
	}
	if m.Fact == nil || m.Link != nil {
		return nil, nil
	}
	f := *m.Fact
	page, err := e.Store.Changes(ctx, owner, memory.ChangeQuery{Fact: id, Limit: maxJournalChanges})
	if err != nil {
		return nil, fmt.Errorf("read the replaced facts: %w", err)
	}
	var out []DerivedRelation
	for _, c := range page.Changes {
		if c.OldID == "" || c.NewID == "" || c.OldID == c.NewID || !at.AsOf.IsZero() && c.At.After(at.AsOf) {
			continue
		}
		otherID := c.OldID
		if otherID == id {
			otherID = c.NewID
		}
		m, err := e.Retrieve.GetAt(ctx, owner, otherID, at)
		if err != nil && !errors.Is(err, memory.NotFound) {
			return nil, fmt.Errorf("read the related facts: %w", err)
		}
		if m.Fact == nil || m.Content() == "" {
			continue
		}
		next, old := f, *m.Fact
		if otherID == c.NewID {
			next, old = old, next
		}
		relation := memory.Relation{Owner: owner, From: next.ID, To: old.ID, Status: memory.Active, CreatedAt: c.At}
		switch {
		case c.Action == memory.ActionAdd && next.Status == memory.Pending:
			relation.Kind = memory.Contradicts
		case c.Action == memory.ActionReplace && old.SupersededBy == next.ID && learn.Refines(next.Content, old.Content):
			relation.Kind = memory.Refines
		case c.Action == memory.ActionReplace && old.SupersededBy == next.ID:
			relation.Kind = memory.Follows
		default: // the change was undone or decided by a person, so no relation is derived from it
			continue
		}
		out = append(out, DerivedRelation{relation, *m.Fact})
	}
	if f.Subject == "" || f.Subject == "user" {
		return out, nil
	}
	sameSubject, err := e.Store.List(ctx, owner, memory.Query{Subject: f.Subject, At: at, Limit: maxSubjectFacts})
	if err != nil {
		return nil, fmt.Errorf("read facts of the same subject: %w", err)
	}
	for _, m := range sameSubject.Memories {
		if m.Link == nil && m.ID() != id {
			relation := memory.Relation{Owner: owner, From: id, To: m.ID(), Kind: memory.SameSubject, Status: memory.Active, CreatedAt: m.CreatedAt()}
			out = append(out, DerivedRelation{relation, *m.Fact})
		}
	}
	return out, nil
}
