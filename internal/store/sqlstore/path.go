package sqlstore

import (
	"fmt"

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
func pathOf(owner memory.Owner, conversation string, p *memory.Path) question {
	return question{statement{`SELECT id, place, status FROM (SELECT id, place, status FROM turns WHERE owner = ?1 AND conversation = ?2 AND place >= ?3 ORDER BY place) p
		UNION ALL SELECT id, -2, status FROM conversations WHERE owner = ?1 AND id = ?2`,
		[]any{owner, conversation, p.From - 1}}, []string{"path:" + conversation, "marks", "conversation:" + conversation}, nil}
}

// onPathOf asks [thereOf] and [pathOf] of a batch in one: a row of the first is an id alone.
func onPathOf(owner memory.Owner, b memory.Batch) question {
	there, path := thereOf(owner, b.Turns), pathOf(owner, b.Conversation.ID, b.Path)
	return question{
		statement: statement{`SELECT t.id, NULL AS place, NULL AS status FROM unnest((SELECT ?2::text[])) AS one (id),
		LATERAL (SELECT id FROM turns WHERE owner = ?1 AND id BETWEEN one.id AND one.id ORDER BY id LIMIT 1) t
		UNION ALL (SELECT id, place, status FROM turns WHERE owner = ?1 AND conversation = ?3 AND place >= ?4 ORDER BY place)
		UNION ALL SELECT id, -2, status FROM conversations WHERE owner = ?1 AND id = ?3`,
			[]any{owner, there.args[1], b.Conversation.ID, b.Path.From - 1}},
		parts: []question{there, path},
	}
}

// stood returns what stands where a batch's path is to be, and what else its marks are about,
// before its turns are written, after which no answer would tell that was had ahead.
func (w *write) stood(b memory.Batch) ([]standing, error) {
	if b.Path == nil {
		return nil, nil
	}
	found, err := w.standing(pathOf(w.owner, b.Conversation.ID, b.Path))
	if err != nil {
		return nil, fmt.Errorf("read the path: %w", err)
	}
	known := turnIDs(found)
	var off listed
	for _, c := range b.Marks {
		if m := c.After.Turn; m != nil && !known[m.ID] {
			off = append(off, m.ID)
		}
	}
	if len(off) == 0 {
		return found, nil
	}
	rows, err := w.query(`SELECT id, CASE WHEN conversation = ? THEN place ELSE -1 END, status FROM turns WHERE owner = ? AND id IN (SELECT value FROM json_each(?))`,
		b.Conversation.ID, w.owner, off)
	more, err := collect(rows, err, scanStanding)
	return append(found, more...), wrap("read what leaves the path", err)
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

// standing returns what a question of [pathOf] finds.
func (t *tx) standing(q question) ([]standing, error) {
	ahead, ok := t.aheadOf(q)
	if !ok {
		rows, err := t.query(q.text, q.args...)
		return collect(rows, err, scanStanding)
	}
	out := make([]standing, len(ahead.rows))
	for i, row := range ahead.rows {
		s := &out[i]
		if err := t.scan(ahead, row, &s.id, &s.index, &s.status); err != nil {
			return nil, err
		}
	}
	return out, nil
}
