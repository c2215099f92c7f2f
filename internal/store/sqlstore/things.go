package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// loadStates reads the rows of a table that satisfy w. If at is in the past, targets that changed since
// have their states of that time.
func (s *Store) things(ctx context.Context, owner memory.Owner, from table, w where, at memory.At) (*shelf.Shelf, error) {
	on := new(shelf.Shelf).Clone()
	see := s.reads.see
	if at.AsOf.IsZero() {
		see = s.reads.look
	}
	err := see(ctx, owner, func(v *view) error {
		clear(on.Things)
		rows, err := v.query(`SELECT `+from.columns+` FROM `+from.name+` `+w.text(), w.args...)
		err = eachRow(rows, err, func(row scanner) error {
			image, err := from.scan(owner, row)
			on.Things[image.Target()] = image
			return err
		})
		if err != nil || at.AsOf.IsZero() {
			return wrap("read "+from.name, err)
		}
		p, err := v.past(at.AsOf)
		for target, image := range p {
			on.Things[target] = image
		}
		return err
	})
	return on, err
}

// Profile returns the active profile entries: see [memory.Facts].
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	on, err := s.things(ctx, owner, profileTable, ofOwner(), at)
	return on.Profile(memory.At{}), err
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Store) Relations(ctx context.Context, owner memory.Owner, fact string, at memory.At) ([]memory.Relation, error) {
	w := ofOwner()
	w.and(`(from_fact = ? OR to_fact = ?)`, fact, fact)
	on, err := s.things(ctx, owner, relationTable, w, at)
	return on.Relations(fact, memory.At{}), err
}

// Contexts returns active contexts: see [memory.Facts].
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) ([]memory.Context, error) {
	w := ofOwner()
	w.oneOf(`id`, ids)
	on, err := s.things(ctx, owner, contextTable, w, at)
	return on.Contexts(memory.At{}, ids...), err
}
