package curate

import (
	"context"
	"errors"
	"fmt"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// FoundRelation is a relation of a fact that nobody made.
type FoundRelation struct {
	memory.Relation
	Other memory.Fact
}

// How many entries of a fact's journal are read for relations, and how many facts of its subject.
const (
	mostChanges = 200
	mostSubject = 20
)

// FoundRelations returns the relations of a fact that history and words tell: what it replaced or
// was replaced by, what waits to replace it, and what else is about the same person or thing. They
// are read, not stored, so that they are always those of the facts as they are.
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
		return nil, fmt.Errorf("read what was replaced: %w", err)
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
			return nil, fmt.Errorf("read what is related: %w", err)
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
		default: // it was undone, or decided on
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
