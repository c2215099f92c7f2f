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
	var ids []string
	if err := s.reads.look(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT id FROM traces WHERE owner = ?`)
		ids, err = collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
		return wrap("list traces", err)
	}); err != nil {
		return 0, err
	}
	removed, err := s.eraseTraces(ctx, owner, ids)
	if err != nil {
		return removed, err
	}
	return removed, s.scrubTraces(ctx)
}

// EraseTracesOf removes the traces that show one of the facts: see [memory.Eraser].
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
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
			n, err := s.eraseTraces(ctx, owner, ids)
			if removed += n; err != nil {
				return removed, err
			}
		}
	}
	if len(facts) == 0 {
		return 0, nil
	}
	return removed, s.scrubTraces(ctx)
}

// tracesOf returns the ids of the traces that show one of the facts, by owner.
func (s *Store) tracesOf(ctx context.Context, facts []string) (map[memory.Owner][]string, error) {
	const shown = `SELECT DISTINCT f.owner, f.trace FROM trace_facts f JOIN traces t ON t.owner = f.owner AND t.id = f.trace
		WHERE f.fact IN (SELECT value FROM json_each(?))`
	found := map[memory.Owner][]string{}
	err := s.reads.again(ctx, func() error {
		clear(found)
		rows, err := s.reads.ask(ctx, shown, listed(facts))
		_, err = collect(rows, err, func(row scanner) (struct{}, error) {
			var owner, id string
			err := row.Scan(&owner, &id)
			found[memory.Owner(owner)] = append(found[memory.Owner(owner)], id)
			return struct{}{}, err
		})
		return wrap("find the traces", err)
	})
	return found, err
}

// eraseTraces removes traces of an owner from the rows, in portions, and returns how many it
// removed.
func (s *Store) eraseTraces(ctx context.Context, owner memory.Owner, ids []string) (removed int, err error) {
	for some := range slices.Chunk(ids, s.rows) {
		if removed > 0 {
			s.between()
		}
		err := s.write(ctx, "", func(t *tx) error {
			for _, statement := range []string{
				`DELETE FROM trace_facts WHERE owner = ? AND trace IN (SELECT value FROM json_each(?))`,
				`DELETE FROM traces WHERE owner = ? AND id IN (SELECT value FROM json_each(?))`,
			} {
				if err := t.exec(statement, owner, listed(some)); err != nil {
					return fmt.Errorf("erase traces: %w", err)
				}
			}
			return t.marksFile()
		})
		if err != nil {
			return removed, err
		}
		removed += len(some)
	}
	return removed, nil
}

// marksFile says in the file that words were erased. A server sees to its own files.
func (t *tx) marksFile() error {
	if t.session.into != nil {
		return nil
	}
	return wrap("mark the file", t.exec(toScrub))
}

// scrubTraces takes the words out of the file if something was removed, now or by a call that
// failed here.
func (s *Store) scrubTraces(ctx context.Context) error {
	if err := s.commits.scrub(ctx); err != nil {
		return memory.Errorf(memory.Unavailable, "traces are erased, but may still be in the file's free pages or its log; erase again to remove them there: %w", err)
	}
	return nil
}
