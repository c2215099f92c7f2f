package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Turns returns turns in order: see [memory.TurnLog].
func (s *Store) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	var found []memory.Turn
	withView := s.reader.withSnapshot
	if q.AsOf.IsZero() {
		withView = s.reader.withConnection
	}
	err := withView(ctx, owner, func(v *view) (err error) {
		if q.AsOf.IsZero() {
			found, err = v.withoutCancel().currentTurns(q)
			return err
		}
		p, err := v.pastStates(q.AsOf)
		if err != nil {
			return err
		}
		found, err = v.turnsAsOf(q, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ownerdata.SelectTurns(found, q), nil
}

// currentTurns returns the current turns that match q. If q.Last is set, it returns at least the last
// q.Last turns of the conversation.
func (v *view) currentTurns(q memory.TurnQuery) ([]memory.Turn, error) {
	w := whereOwner()
	if q.Conversation != "" {
		w.and(`conversation = ?`, q.Conversation)
	}
	w.inFewValues(`id`, q.IDs)
	if len(q.Chains) > 0 {
		w.and(`chain <> ''`) // the condition of the partial index
		w.inFewValues(`chain`, q.Chains)
	}
	if len(q.Refs) > 0 {
		w.and(`ref <> ''`) // the condition of the partial index
		w.inFewValues(`ref`, q.Refs)
	}
	if q.Unlearned {
		w.and(`role = 'user' AND learned_at = 0 AND no_learn = 0`)
	}
	if statuses := statusTexts(q.Statuses, len(q.Chains) > 0); len(statuses) > 0 {
		if len(w.terms) > 1 {
			w.inFewValues(`+status`, statuses) // the plus keeps SQLite from using the index on status
		} else {
			w.inValues(`status`, statuses)
		}
	}
	query := `SELECT ` + turnColumns + ` FROM turns ` + w.clause()
	if q.Last > 0 && q.Conversation != "" {
		query += ` ORDER BY place DESC, id DESC` + limitClause(q.Last)
	}
	rows, err := v.query(query, w.args...)
	found, err := collect(rows, err, func(row scanner) (memory.Turn, error) {
		t, err := scanTurn(v.owner, row)
		return *t, err
	})
	return found, wrap("read turns", err)
}

// statusTexts returns the statuses that a query selects, nil for all. A query without statuses selects
// active turns, or turns of any status if anyByDefault is set.
func statusTexts(statuses []memory.Status, anyByDefault bool) []string {
	if len(statuses) == 0 && !anyByDefault {
		return []string{string(memory.Active)}
	}
	var texts []string
	for _, s := range statuses {
		texts = append(texts, string(s))
	}
	return texts
}
