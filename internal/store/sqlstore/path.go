package sqlstore

import (
	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

const (
	pathColumns = `SELECT id, conversation, place, status FROM turns WHERE owner = ? AND `
	turnsThere  = `SELECT id FROM turns WHERE owner = ?1 AND id IN (SELECT value FROM json_each(?2))`
	// storedTurnsServerQuery looks up each turn by a range condition that only the primary key
	// supports. Otherwise PostgreSQL, without statistics, could read all of the owner's turns.
	turnsThereServer = `SELECT t.id FROM unnest((SELECT ?2::text[])) AS one (id),
		LATERAL (SELECT id FROM turns WHERE owner = ?1 AND id BETWEEN one.id AND one.id ORDER BY id LIMIT 1) t`
)

// loadPath returns the ids of a batch's turns that are stored. pathData contains the stored turns for
// checkPath: the conversation's turns since the turn before the path, and the changed turns.
func (t *tx) present(owner memory.Owner, b memory.Batch) (draft *shelf.Shelf, there map[string]bool, err error) {
	draft, there = new(shelf.Shelf).Clone(), map[string]bool{}
	var asks []ask
	if len(b.Turns) > 0 {
		query, ids := turnsThere, make(listed, len(b.Turns))
		if t.session.into != nil {
			query = turnsThereServer
		}
		for i, turn := range b.Turns {
			ids[i] = turn.ID
		}
		asks = append(asks, ask{query, []any{owner, ids}, func(row scanner) error {
			var id string
			err := row.Scan(&id)
			there[id] = true
			return err
		}})
	}
	if b.Path != nil {
		c := memory.Conversation{ID: b.Conversation.ID, Status: memory.Active}
		draft.Conversations[c.ID] = c
		asks = append(asks, ask{`SELECT status FROM conversations WHERE owner = ? AND id = ?`, []any{owner, c.ID}, func(row scanner) error {
			err := row.Scan(&c.Status)
			draft.Conversations[c.ID] = c
			return err
		}})
		scan := func(row scanner) error {
			var stored memory.Turn
			err := row.Scan(&stored.ID, &stored.Conversation, &stored.Index, &stored.Status)
			draft.Turns[stored.ID] = stored
			return err
		}
		// the order makes any planner use the index on place
		asks = append(asks, ask{pathColumns + `conversation = ? AND place >= ? ORDER BY place`, []any{owner, c.ID, b.Path.From - 1}, scan})
		var marked listed
		for _, m := range b.Marks {
			if m.After.Turn != nil {
				marked = append(marked, m.After.Turn.ID)
			}
		}
		if len(marked) > 0 {
			asks = append(asks, ask{pathColumns + `id IN (SELECT value FROM json_each(?))`, []any{owner, marked}, scan})
		}
	}
	return draft, there, wrap("read the path", t.ask(asks...))
}

// checkPath returns a Conflict if the conversation's path after the batch would differ from b.Path.
func checkPath(b memory.Batch, draft *shelf.Shelf) error {
	if b.Path == nil {
		return nil
	}
	for _, t := range b.Turns {
		if _, stored := draft.Turns[t.ID]; !stored {
			draft.Turns[t.ID] = t
		}
	}
	return draft.CheckPath(b)
}
