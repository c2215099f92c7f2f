package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// EraseTraces removes all traces of an owner: see [memory.Eraser].
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	if err := checkOwner(owner); err != nil {
		return 0, err
	}
	done, err := s.commits.erasing(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	removed := 0
	err = s.write(ctx, "", func(t *tx) (err error) {
		if err := t.exec(`DELETE FROM trace_facts WHERE owner = ?`, owner); err != nil {
			return fmt.Errorf("erase traces: %w", err)
		}
		removed, err = t.eraseTraces(`owner = ?`, owner)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// eraseTraces removes traces and returns how many there were.
func (t *tx) eraseTraces(where string, args ...any) (int, error) {
	n, err := t.count(`DELETE FROM traces WHERE `+where, args...)
	if err != nil || n == 0 {
		return 0, wrap("erase traces", err)
	}
	return int(n), t.marksFile()
}

// EraseTracesOf removes the traces that show one of the facts: see [memory.Eraser].
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	done, err := s.commits.erasing(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	removed := 0
	for some := range slices.Chunk(facts, maxListed) { // as many as a statement has arguments for
		named, err := s.tracesOf(ctx, some)
		if err != nil {
			return removed, err
		}
		for owner, ids := range named {
			if owner.Namespace() != namespace {
				continue
			}
			n := 0
			err := s.write(ctx, "", func(t *tx) (err error) {
				if err := t.exec(`DELETE FROM trace_facts WHERE owner = ? AND trace IN (SELECT value FROM json_each(?))`, owner, listed(ids)); err != nil {
					return fmt.Errorf("erase traces: %w", err)
				}
				n, err = t.eraseTraces(`owner = ? AND id IN (SELECT value FROM json_each(?))`, owner, listed(ids))
				return err
			})
			if err != nil {
				return removed, err
			}
			removed += n
		}
	}
	return removed, nil
}

// tracesOf returns the ids of the traces that show one of the facts, by owner.
func (s *Store) tracesOf(ctx context.Context, facts []string) (map[memory.Owner][]string, error) {
	const shown = `SELECT DISTINCT f.owner, f.trace FROM trace_facts f JOIN traces t ON t.owner = f.owner AND t.id = f.trace
		WHERE f.fact IN (SELECT value FROM json_each(?))`
	type trace struct{ owner, id string }
	all, err := queryAll(ctx, s.reads, shown, []any{listed(facts)}, func(row scanner) (t trace, err error) {
		err = row.Scan(&t.owner, &t.id)
		return t, err
	})
	found := map[memory.Owner][]string{}
	for _, t := range all {
		found[memory.Owner(t.owner)] = append(found[memory.Owner(t.owner)], t.id)
	}
	return found, wrap("find the traces", err)
}
