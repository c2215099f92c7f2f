package sqlstore

import (
	"github.com/loci-memory/loci/memory"
)

// standing is a turn as the current path knows it, or its conversation.
type standing struct {
	id     string
	index  int // or wholeTalk
	status memory.Status
}

// wholeTalk stands where a turn has its place, for the conversation itself.
const wholeTalk = -2

// pathOf asks what stands in a conversation where a path is to be, and right before it:
// in order of place, so that any planner takes the index which has that. And it asks
// whether the conversation was deleted.
const pathOf = `SELECT id, place, status FROM (SELECT id, place, status FROM turns WHERE owner = ?1 AND conversation = ?2 AND place >= ?3 ORDER BY place) p
	UNION ALL SELECT id, -2, status FROM conversations WHERE owner = ?1 AND id = ?2`

// thereOf asks which turns are there. Each is looked for as a range in order, which only the
// primary key has: to a server without statistics of the table, any index by owner seems as
// good, and it would read all that the owner has.
const thereOf = `SELECT t.id FROM unnest((SELECT ?2::text[])) AS one (id),
	LATERAL (SELECT id FROM turns WHERE owner = ?1 AND id BETWEEN one.id AND one.id ORDER BY id LIMIT 1) t`

// present is what of a batch is there before anything of it is written.
type present struct {
	stood []standing      // where its path is to be, and what else its marks are about
	there map[string]bool // its turns that a server has already; nil: see when they are written
}

// present reads what of a batch is there.
func (t *tx) present(owner memory.Owner, b memory.Batch) (present, error) {
	var found present
	var asks []ask
	scan := func(row scanner) error {
		s, err := scanStanding(row)
		found.stood = append(found.stood, s)
		return err
	}
	if b.Path != nil {
		asks = append(asks, ask{pathOf, []any{owner, b.Conversation.ID, b.Path.From - 1}, scan})
	}
	if t.session.into != nil && len(b.Turns) > 0 {
		found.there = map[string]bool{}
		ids := make(listed, len(b.Turns))
		for i, turn := range b.Turns {
			ids[i] = turn.ID
		}
		asks = append(asks, ask{thereOf, []any{owner, ids}, func(row scanner) error {
			var id string
			err := row.Scan(&id)
			found.there[id] = true
			return err
		}})
	}
	if err := t.ask(asks...); err != nil || b.Path == nil {
		return found, wrap("read the path", err)
	}
	known := turnIDs(found.stood)
	var off listed
	for _, c := range b.Marks {
		if m := c.After.Turn; m != nil && !known[m.ID] {
			off = append(off, m.ID)
		}
	}
	if len(off) == 0 {
		return found, nil
	}
	err := t.ask(ask{`SELECT id, CASE WHEN conversation = ? THEN place ELSE -1 END, status FROM turns WHERE owner = ? AND id IN (SELECT value FROM json_each(?))`,
		[]any{b.Conversation.ID, owner, off}, scan})
	return found, wrap("read what leaves the path", err)
}

// turnIDs returns the ids of the turns among what stands there.
func turnIDs(among []standing) map[string]bool {
	ids := make(map[string]bool, len(among))
	for _, s := range among {
		if s.index != wholeTalk {
			ids[s.id] = true
		}
	}
	return ids
}

// holds returns a Conflict if what stood, with the turns of a batch and the marks that are
// still to be made, leaves another path than the batch names, if a mark brings back what
// was taken out of memory, or if a turn would be active in a conversation that was deleted.
// The turns may have been there already or not.
func holds(b memory.Batch, stood []standing) error {
	if b.Path == nil {
		return nil
	}
	known := turnIDs(stood)
	for _, t := range b.Turns {
		if !known[t.ID] {
			stood = append(stood, standing{t.ID, t.Index, t.Status})
		}
	}
	was, now := map[string]memory.Status{}, map[string]memory.Status{}
	deleted := false
	for _, s := range stood {
		if s.index == wholeTalk {
			deleted = s.status == memory.Retired
		} else {
			was[s.id], now[s.id] = s.status, s.status
		}
	}
	for _, c := range b.Marks {
		switch after := c.After; {
		case after.Conversation != nil && after.Conversation.ID == b.Conversation.ID:
			deleted = after.Conversation.Status == memory.Retired
		case after.Turn != nil:
			if !b.Path.Marks(was[after.Turn.ID], after.Turn.Status) {
				return memory.Errorf(memory.Conflict, "turn %s of conversation %s was taken out of memory since", after.Turn.ID, b.Conversation.ID)
			}
			now[after.Turn.ID] = after.Turn.Status
		}
	}
	holds := b.Path.Check()
	for _, s := range stood {
		if s.index >= 0 && !holds(s.id, s.index, now[s.id]) {
			return memory.Errorf(memory.Conflict, "the path of conversation %s is another since: turn %s is %s", b.Conversation.ID, s.id, now[s.id])
		}
	}
	if deleted && b.Speaks(func(turn string) memory.Status { return now[turn] }) {
		return memory.Errorf(memory.Conflict, "conversation %s was deleted since", b.Conversation.ID)
	}
	return nil
}

func scanStanding(row scanner) (s standing, err error) {
	return s, row.Scan(&s.id, &s.index, &s.status)
}
