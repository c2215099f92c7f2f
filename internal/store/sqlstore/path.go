package sqlstore

import (
	"cmp"
	"fmt"

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
		[]any{owner, conversation, p.From - 1}}, []string{"path:" + conversation, "marks"}}
}

// holds returns a Conflict if what stands, with the marks of a batch that are still to be
// made, leaves another path than the batch names. Its turns may be there already or not.
func (w *write) holds(b memory.Batch) error {
	if b.Path == nil {
		return nil
	}
	found, err := w.standing(pathOf(w.owner, b.Conversation.ID, b.Path))
	if err != nil {
		return fmt.Errorf("read the path: %w", err)
	}
	marked := map[string]memory.Status{}
	for _, c := range b.Marks {
		if c.After.Turn != nil {
			marked[c.After.Turn.ID] = c.After.Turn.Status
		}
	}
	for _, t := range found {
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
