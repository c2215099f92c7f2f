package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// loadStates reads the states in a table that satisfy w. If at.AsOf is set, it then replaces the states of
// targets that have changed since that time by their states at that time.
func (s *Store) loadStates(ctx context.Context, owner memory.Owner, table stateTable, w where, at memory.At) (*ownerdata.Data, error) {
	data := new(ownerdata.Data).Clone()
	withView := s.reader.withSnapshot
	if at.AsOf.IsZero() {
		withView = s.reader.withConnection
	}
	err := withView(ctx, owner, func(v *view) error {
		clear(data.States)
		rows, err := v.query(`SELECT `+table.columns+` FROM `+table.name+` `+w.clause(), w.args...)
		err = eachRow(rows, err, func(row scanner) error {
			state, err := table.scan(owner, row)
			data.States[state.Target()] = state
			return err
		})
		if err != nil || at.AsOf.IsZero() {
			return wrap("read "+table.name, err)
		}
		past, err := v.pastStates(at.AsOf)
		for target, state := range past {
			data.States[target] = state
		}
		return err
	})
	return data, err
}

// Profile returns the active profile entries: see [memory.Facts].
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	data, err := s.loadStates(ctx, owner, profileTable, whereOwner(), at)
	return data.Profile(memory.At{}), err
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Store) Relations(ctx context.Context, owner memory.Owner, factID string, at memory.At) ([]memory.Relation, error) {
	w := whereOwner()
	w.and(`(from_fact = ? OR to_fact = ?)`, factID, factID)
	data, err := s.loadStates(ctx, owner, relationTable, w, at)
	return data.Relations(factID, memory.At{}), err
}

// Contexts returns active contexts: see [memory.Facts].
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) ([]memory.Context, error) {
	w := whereOwner()
	w.inFewValues(`id`, ids)
	data, err := s.loadStates(ctx, owner, contextTable, w, at)
	return data.Contexts(memory.At{}, ids...), err
}
