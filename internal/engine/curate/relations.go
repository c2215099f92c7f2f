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
func (e *Curator) Relate(ctx context.Context, owner memory.Owner, from, to string, kind memory.RelationKind, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	switch {
	case !slices.Contains(RelationKinds, kind):
		return memory.Receipt{}, memory.Errorf(memory.Invalid, "kind: invalid value %q (valid: %v)", kind, RelationKinds)
	case from == to:
		return memory.Receipt{}, memory.Errorf(memory.Invalid, "a fact cannot be related to itself")
	}
	for _, id := range []string{from, to} {
		f, err := e.Fact(ctx, owner, id)
		if err != nil {
			return memory.Receipt{}, err
		}
		if core.WasErased(f) {
			return memory.Receipt{}, core.ErrErased("fact:" + id)
		}
	}
	if _, err := e.Relation(ctx, owner, from, to, kind); !errors.Is(err, memory.NotFound) {
		return memory.Receipt{}, err
	}
	tie := memory.Relation{Owner: owner, From: from, To: to, Kind: kind, Status: memory.Active, CreatedAt: e.Time()}
	run := memory.Run{ID: core.NewID(), Kind: "manual", Author: author}
	change := memory.Change{Action: memory.ActionAdd, After: memory.Image{Relation: &tie}, Reason: "related by hand"}
	return core.ApplyAgain(ctx, e.Core, owner, run, change)
}

// Unrelate ends a relation in a run that can be undone, or returns [memory.NotFound].
func (e *Curator) Unrelate(ctx context.Context, owner memory.Owner, from, to string, kind memory.RelationKind, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	tie, err := e.Relation(ctx, owner, from, to, kind)
	if err != nil {
		return memory.Receipt{}, err
	}
	base := tie.Version
	tie.Status = memory.Retired
	run := memory.Run{ID: core.NewID(), Kind: "manual", Author: author}
	return e.Store.Apply(ctx, owner, run, memory.Change{
		Action: memory.ActionRetire, After: memory.Image{Relation: &tie}, Base: base, Reason: "the relation was ended by hand",
	})
}

// Relation returns an active relation, or [memory.NotFound].
func (e *Curator) Relation(ctx context.Context, owner memory.Owner, from, to string, kind memory.RelationKind) (memory.Relation, error) {
	ties, err := e.Store.Relations(ctx, owner, from, memory.At{})
	if err != nil {
		return memory.Relation{}, fmt.Errorf("read relations: %w", err)
	}
	for _, t := range ties {
		if t.From == from && t.To == to && t.Kind == kind {
			return t, nil
		}
	}
	return memory.Relation{}, memory.Errorf(memory.NotFound, "no such relation")
}

// Related is a fact with the facts that relations connect to it.
type Related struct {
	Facts     []memory.Fact     // the requested fact first, then by distance
	Steps     []int             // distance of each fact in relations; 0 for the requested fact
	Relations []memory.Relation // relations between these facts, without duplicates
	More      bool              // true if the limit excluded facts
}

// RelatedFacts follows a fact's relations in both directions, up to a distance of steps and a number of
// limit facts. It returns the relations and facts as of a time, without erased facts.
func (e *Curator) RelatedAt(ctx context.Context, owner memory.Owner, id string, at memory.At, steps, most int) (Related, error) {
	first, err := e.Fact(ctx, owner, id)
	if err != nil {
		return Related{}, err
	}
	if at != (memory.At{}) {
		m, err := e.Retrieve.GetAt(ctx, owner, id, at)
		if err != nil {
			return Related{}, err
		}
		first = *m.Fact
	}
	w := Related{Facts: []memory.Fact{first}, Steps: []int{0}}
	met, place := map[string]bool{id: true}, map[string]int{id: 0}
	var ties []memory.Relation
	for i := 0; i < len(w.Facts) && w.Steps[i] < steps; i++ {
		found, err := e.Store.Relations(ctx, owner, w.Facts[i].ID, at)
		if err != nil {
			return Related{}, fmt.Errorf("read relations: %w", err)
		}
		ties = append(ties, found...)
		for _, t := range found {
			next := t.To
			if next == w.Facts[i].ID {
				next = t.From
			}
			if met[next] {
				continue
			}
			if len(w.Facts) == most {
				w.More = true
				continue
			}
			met[next] = true
			m, err := e.Retrieve.GetAt(ctx, owner, next, at)
			if err != nil && !errors.Is(err, memory.NotFound) {
				return Related{}, fmt.Errorf("read the related facts: %w", err)
			}
			if m.Fact == nil || m.Content() == "" {
				continue
			}
			place[next] = len(w.Facts)
			w.Facts, w.Steps = append(w.Facts, *m.Fact), append(w.Steps, w.Steps[i]+1)
		}
	}
	seen := map[string]bool{}
	for _, t := range ties {
		_, from := place[t.From]
		_, to := place[t.To]
		if target := (memory.Image{Relation: &t}).Target(); from && to && !seen[target] {
			seen[target] = true
			w.Relations = append(w.Relations, t)
		}
	}
	return w, nil
}

// DerivedRelation is a relation that is derived from a fact's history or text.
type FoundRelation struct {
	memory.Relation
	Other memory.Fact
}

// Bounds for derived relations: changes in a fact's journal, and facts with the same subject.
const (
	mostChanges = 200
	mostSubject = 20
)

// DerivedRelations returns relations derived from history and text: to the facts that replaced the fact
// or that it replaced, to its pending replacements, and to other facts about the same person or thing.
// They are computed at each call.
func (e *Curator) FoundRelations(ctx context.Context, owner memory.Owner, id string, at memory.At) ([]FoundRelation, error) {
	m, err := e.Retrieve.GetAt(ctx, owner, id, at)
	if err != nil {
		return nil, err
	}
	if m.Fact == nil || m.Link != nil {
		return nil, nil
	}
	f := *m.Fact
	page, err := e.Store.Changes(ctx, owner, memory.ChangeQuery{Fact: id, Limit: mostChanges})
	if err != nil {
		return nil, fmt.Errorf("read the replaced facts: %w", err)
	}
	var out []FoundRelation
	for _, c := range page.Changes {
		if c.OldID == "" || c.NewID == "" || c.OldID == c.NewID || !at.AsOf.IsZero() && c.At.After(at.AsOf) {
			continue
		}
		other := c.OldID
		if other == id {
			other = c.NewID
		}
		m, err := e.Retrieve.GetAt(ctx, owner, other, at)
		if err != nil && !errors.Is(err, memory.NotFound) {
			return nil, fmt.Errorf("read the related facts: %w", err)
		}
		if m.Fact == nil || m.Content() == "" {
			continue
		}
		next, old := f, *m.Fact
		if other == c.NewID {
			next, old = old, next
		}
		tie := memory.Relation{Owner: owner, From: next.ID, To: old.ID, Status: memory.Active, CreatedAt: c.At}
		switch {
		case c.Action == memory.ActionAdd && next.Status == memory.Pending:
			tie.Kind = memory.Contradicts
		case c.Action == memory.ActionReplace && old.SupersededBy == next.ID && learn.Refines(next.Content, old.Content):
			tie.Kind = memory.Refines
		case c.Action == memory.ActionReplace && old.SupersededBy == next.ID:
			tie.Kind = memory.Follows
		default: // undone, or a person's decision
			continue
		}
		out = append(out, FoundRelation{tie, *m.Fact})
	}
	if f.Subject == "" || f.Subject == "user" {
		return out, nil
	}
	same, err := e.Store.List(ctx, owner, memory.Query{Subject: f.Subject, At: at, Limit: mostSubject})
	if err != nil {
		return nil, fmt.Errorf("read facts of the same subject: %w", err)
	}
	for _, m := range same.Memories {
		if m.Link == nil && m.ID() != id {
			tie := memory.Relation{Owner: owner, From: id, To: m.ID(), Kind: memory.SameSubject, Status: memory.Active, CreatedAt: m.CreatedAt()}
			out = append(out, FoundRelation{tie, *m.Fact})
		}
	}
	return out, nil
}
