package sqlstore

import (
	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

const (
	pathQuery        = `SELECT id, conversation, place, status FROM turns WHERE owner = ? AND `
	storedTurnsQuery = `SELECT id FROM turns WHERE owner = ?1 AND id IN (SELECT value FROM json_each(?2))`
	// storedTurnsServerQuery is storedTurnsQuery for PostgreSQL. It selects each turn by the range from its id to its id,
	// which always uses the primary key: without statistics, IN might read all of the owner's turns.
	storedTurnsServerQuery = `SELECT t.id FROM unnest((SELECT ?2::text[])) AS one (id),
		LATERAL (SELECT id FROM turns WHERE owner = ?1 AND id BETWEEN one.id AND one.id ORDER BY id LIMIT 1) t`
)

// loadPath returns the ids of a batch's turns that are stored already. pathData has the stored turns for
// checkPath: the conversation's turns from index b.Path.From-1 on, and turns that b.Changes changes.
func (t *tx) loadPath(owner memory.Owner, b memory.Batch) (pathData *ownerdata.Data, storedIDs map[string]bool, err error) {
	pathData, storedIDs = new(ownerdata.Data).Clone(), map[string]bool{}
	var statements []statement
	if len(b.Turns) > 0 {
		query, ids := storedTurnsQuery, make(textList, len(b.Turns))
		if t.session.translator != nil {
			query = storedTurnsServerQuery
		}
		for i, turn := range b.Turns {
			ids[i] = turn.ID
		}
		statements = append(statements, statement{query, []any{owner, ids}, func(row scanner) error {
			var id string
			err := row.Scan(&id)
			storedIDs[id] = true
			return err
		}})
	}
	if b.Path != nil {
		c := memory.Conversation{ID: b.Conversation.ID, Status: memory.Active}
		pathData.Conversations[c.ID] = c
		statements = append(statements, statement{`SELECT status FROM conversations WHERE owner = ? AND id = ?`, []any{owner, c.ID}, func(row scanner) error {
			err := row.Scan(&c.Status)
			pathData.Conversations[c.ID] = c
			return err
		}})
		scan := func(row scanner) error {
			var stored memory.Turn
			err := row.Scan(&stored.ID, &stored.Conversation, &stored.Index, &stored.Status)
			pathData.Turns[stored.ID] = stored
			return err
		}
		// the order makes the planner use the index on place
		statements = append(statements, statement{pathQuery + `conversation = ? AND place >= ? ORDER BY place`, []any{owner, c.ID, b.Path.From - 1}, scan})
		var marked textList
		for _, m := range b.Changes {
			if m.After.Turn != nil {
				marked = append(marked, m.After.Turn.ID)
			}
		}
		if len(marked) > 0 {
			statements = append(statements, statement{pathQuery + `id IN (SELECT value FROM json_each(?))`, []any{owner, marked}, scan})
		}
	}
	return pathData, storedIDs, wrap("read the path", t.runBatch(statements...))
}

// checkPath returns a Conflict if, with the batch, the conversation's path would differ from b.Path.
func checkPath(b memory.Batch, pathData *ownerdata.Data) error {
	if b.Path == nil {
		return nil
	}
	for _, t := range b.Turns {
		if _, stored := pathData.Turns[t.ID]; !stored {
			pathData.Turns[t.ID] = t
		}
	}
	return pathData.CheckPath(b)
}
