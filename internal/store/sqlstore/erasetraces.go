package sqlstore

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// EraseTraces removes all traces of an owner: see [memory.Eraser].
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	if err := checkOwner(owner); err != nil {
		return 0, err
	}
	done, err := s.committer.beginErasure(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return s.eraseTraces(ctx, owner, ` IS NOT NULL`)
}

// EraseTracesOf removes the traces that show one of the facts: see [memory.Eraser].
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, factIDs ...string) (removed int, err error) {
	done, err := s.committer.beginErasure(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	owners, err := queryAll(ctx, s.reader, `SELECT DISTINCT f.owner FROM trace_facts f WHERE f.fact IN (SELECT value FROM json_each(?))`, []any{textList(factIDs)}, scanText[memory.Owner])
	if err != nil {
		return 0, fmt.Errorf("find the traces: %w", err)
	}
	for _, owner := range owners {
		if owner.Namespace() != namespace {
			continue
		}
		n, err := s.eraseTraces(ctx, owner, ` IN (SELECT trace FROM trace_facts WHERE owner = ?1 AND fact IN (SELECT value FROM json_each(?2)))`, textList(factIDs))
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

// eraseTraces runs removeTraces in a transaction, and marks an SQLite file for rewriting.
func (s *Store) eraseTraces(ctx context.Context, owner memory.Owner, idCondition string, args ...any) (removed int, err error) {
	err = s.write(ctx, "", func(t *tx) (err error) {
		if removed, err = t.removeTraces(owner, idCondition, args...); err != nil || removed == 0 {
			return err
		}
		return t.markForVacuum()
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// removeTraces removes an owner's traces whose id satisfies idCondition, and returns their number. In
// idCondition, an SQL text that follows the column id, ?1 is the owner.
func (t *tx) removeTraces(owner memory.Owner, idCondition string, args ...any) (int, error) {
	args = append([]any{owner}, args...)
	n, err := t.execCount(`DELETE FROM traces WHERE owner = ?1 AND id`+idCondition, args...)
	if err == nil && n > 0 {
		err = t.exec(`DELETE FROM trace_facts WHERE owner = ?1 AND trace NOT IN (SELECT id FROM traces WHERE owner = ?1)`, owner)
	}
	return int(n), wrap("remove traces", err)
}
