package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// EraseTraces removes all traces of an owner: see [memory.Eraser].
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	if err := checkOwner(owner); err != nil {
		return 0, err
	}
	removed, err := s.eraseTraces(ctx, owner, ofOwner())
	if err != nil {
		return 0, err
	}
	return removed, s.scrubTraces(ctx)
}

// EraseTracesOf removes the traces that have the words of one of the facts: see
// [memory.Eraser]. Which facts those are stands in their JSON alone, so that all of the namespace are
// looked through, one owner after the other, and others write in between.
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	if len(facts) == 0 {
		return 0, nil
	}
	if len(facts) > maxListed { // as many as a statement has arguments for
		first, err := s.EraseTracesOf(ctx, namespace, facts[:maxListed]...)
		if err != nil {
			return first, err
		}
		rest, err := s.EraseTracesOf(ctx, namespace, facts[maxListed:]...)
		return first + rest, err
	}
	var owners []memory.Owner
	err := s.reads.again(ctx, func() error {
		rows, err := s.reads.ask(ctx, `SELECT DISTINCT owner FROM traces`)
		owners, err = collect(rows, err, func(row scanner) (owner memory.Owner, err error) {
			return owner, row.Scan((*string)(&owner))
		})
		return wrap("list who has traces", err)
	})
	if err != nil {
		return 0, err
	}
	named := make([]string, len(facts))
	for i, id := range facts {
		named[i] = `{"id":` + string(appendText(nil, id)) + `,"kind":"fact","content":` // as hits begin, and nothing else
	}
	w := ofOwner()
	w.and(`(`+strings.Repeat(`replace(data, ?, '') <> data OR `, roundUp(len(named))-1)+`replace(data, ?, '') <> data)`, arguments(named)...)
	removed := 0
	for _, owner := range owners {
		if owner.Namespace() != namespace {
			continue
		}
		n, err := s.eraseTraces(ctx, owner, w)
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, s.scrubTraces(ctx)
}

// eraseTraces removes the traces of an owner that match from the rows. They are looked
// for before the writer's turn comes.
func (s *Store) eraseTraces(ctx context.Context, owner memory.Owner, w where) (removed int, err error) {
	var ids []string
	if err := s.reads.look(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT id FROM traces `+w.text(), w.args...)
		ids, err = collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
		return wrap("read traces", err)
	}); err != nil || len(ids) == 0 {
		return 0, err
	}
	err = s.write(ctx, "", func(t *tx) error {
		if err := t.exec(`DELETE FROM traces WHERE owner = ? AND id IN (SELECT value FROM json_each(?))`, owner, listed(ids)); err != nil {
			return fmt.Errorf("erase traces: %w", err)
		}
		if t.session.into != nil { // the server sees to its own files
			return nil
		}
		return wrap("mark the file", t.exec(toScrub))
	})
	if err != nil {
		return 0, err
	}
	return len(ids), nil
}

// scrubTraces takes the words out of the file if something was removed, now or by a call that
// failed here.
func (s *Store) scrubTraces(ctx context.Context) error {
	if err := s.commits.scrub(ctx); err != nil {
		return memory.Errorf(memory.Unavailable, "traces are erased, but may still be in the file's free pages or its log; erase again to remove them there: %w", err)
	}
	return nil
}
