package sqlstore

import (
	"cmp"

	"github.com/loci-memory/loci/memory"
)

// standing is a turn as the current path knows it.
type standing struct {
	id     string
	index  int
	status memory.Status
}

// pathOf asks what stands in a conversation where a path is to be, and right before it:
// in order of place, so that any planner takes the index which has that.
func pathOf(owner memory.Owner, conversation string, p *memory.Path) question {
	return question{statement{`SELECT id, place, status FROM turns WHERE owner = ? AND conversation = ? AND place >= ? ORDER BY place`,
		[]any{owner, conversation, p.From - 1}}, []string{"path:" + conversation, "marks"}, nil}
}

// onPathOf asks [thereOf] and [pathOf] of a batch in one: a row of the first is an id alone.
func onPathOf(owner memory.Owner, b memory.Batch) question {
	there, path := thereOf(owner, b.Turns), pathOf(owner, b.Conversation.ID, b.Path)
	return question{
		statement: statement{`SELECT t.id, NULL AS place, NULL AS status FROM unnest((SELECT ?2::text[])) AS one (id),
		LATERAL (SELECT id FROM turns WHERE owner = ?1 AND id BETWEEN one.id AND one.id ORDER BY id LIMIT 1) t
		UNION ALL (SELECT id, place, status FROM turns WHERE owner = ?1 AND conversation = ?3 AND place >= ?4 ORDER BY place)`,
			[]any{owner, there.args[1], b.Conversation.ID, b.Path.From - 1}},
		parts: []question{there, path},
	}
}

// stood returns what stands where a batch's path is to be before its turns are written, after
// which no answer would tell that was had ahead.
func (w *write) stood(b memory.Batch) ([]standing, error) {
	if b.Path == nil {
		return nil, nil
	}
	found, err := w.standing(pathOf(w.owner, b.Conversation.ID, b.Path))
	return found, wrap("read the path", err)
}

// holds returns a Conflict if what stood, with the turns of a batch and the marks that are
// still to be made, leaves another path than the batch names, or if a mark brings back what
// was taken out of memory. The turns may have been there
// already or not.
func holds(b memory.Batch, stood []standing) error {
	if b.Path == nil {
		return nil
	}
	marked, met := map[string]memory.Status{}, map[string]bool{}
	for _, c := range b.Marks {
		if c.After.Turn != nil {
			marked[c.After.Turn.ID] = c.After.Turn.Status
		}
	}
	for _, t := range stood {
		met[t.id] = true
		if next := cmp.Or(marked[t.id], t.status); !b.Path.Marks(t.status, next) {
			return memory.Errorf(memory.Conflict, "turn %s of conversation %s was taken out of memory since", t.id, b.Conversation.ID)
		}
	}
	for _, t := range b.Turns {
		if !met[t.ID] {
			stood = append(stood, standing{t.ID, t.Index, t.Status})
		}
	}
	for _, t := range stood {
		if status := cmp.Or(marked[t.id], t.status); !b.Path.Holds(t.id, t.index, status) {
			return memory.Errorf(memory.Conflict, "the path of conversation %s is another since: turn %s is %s", b.Conversation.ID, t.id, status)
		}
	}
	return nil
}

// standing returns the turns that a question of [pathOf] finds.
func (t *tx) standing(q question) ([]standing, error) {
	scan := func(row scanner) (s standing, err error) { return s, row.Scan(&s.id, &s.index, &s.status) }
	ahead, ok := t.aheadOf(q)
	if !ok {
		rows, err := t.query(q.text, q.args...)
		return collect(rows, err, func(row scanner) (standing, error) { return scan(row) })
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
