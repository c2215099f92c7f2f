package files

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// tieFile returns the changes that tie a fact to what its file names besides, and untie it
// from what it names no more. To what is not a fact any more nothing can be tied: the edit then
// waits, since the next look at the file tells of it.
func (e *Files) tieFile(ctx context.Context, edit FileEdit, id string) ([]memory.Change, error) {
	was, says := all(edit.Was.Relations), all(edit.Says.Relations)
	var changes []memory.Change
	for _, r := range says {
		if slices.ContainsFunc(was, same(r)) {
			continue
		}
		if !slices.Contains(curate.RelationKinds, r.Kind) || r.To == id {
			return nil, memory.Errorf(memory.Invalid, "%s %s: no relation of %s", r.Kind, r.To, id)
		}
		if to, err := e.Fact(ctx, edit.Owner, r.To); err != nil || core.WasErased(to) {
			return nil, fmt.Errorf("%s %s: it is not a fact: %v", r.Kind, r.To, err) //nolint:errorlint // not found is final, and this is not
		}
		if _, err := e.Curate.Relation(ctx, edit.Owner, id, r.To, r.Kind); !errors.Is(err, memory.NotFound) {
			if err != nil {
				return nil, err
			}
			continue
		}
		tie := memory.Relation{Owner: edit.Owner, From: id, To: r.To, Kind: r.Kind, Status: memory.Active, CreatedAt: e.Time()}
		change := memory.Change{Action: memory.ActionAdd, After: memory.Image{Relation: &tie}, Reason: inFile, Author: ByFile}
		before, err := e.LastChange(ctx, edit.Owner, change.After.Target())
		if err != nil {
			return nil, err
		}
		if before.ID != "" {
			change.Action = memory.ActionRestore
		}
		changes = append(changes, change)
	}
	for _, r := range was {
		if slices.ContainsFunc(says, same(r)) {
			continue
		}
		tie, err := e.Curate.Relation(ctx, edit.Owner, id, r.To, r.Kind)
		if errors.Is(err, memory.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		base := tie.Version
		tie.Status = memory.Retired
		changes = append(changes, memory.Change{Action: memory.ActionRetire, After: memory.Image{Relation: &tie}, Base: base, Reason: inFile, Author: ByFile})
	}
	return changes, nil
}

func all(relations *[]memory.Relation) []memory.Relation {
	if relations == nil {
		return nil
	}
	return *relations
}

// same reports whether another relation of the same fact says what r does.
func same(r memory.Relation) func(memory.Relation) bool {
	return func(s memory.Relation) bool { return s.To == r.To && s.Kind == r.Kind }
}
