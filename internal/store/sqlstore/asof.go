package sqlstore

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// pastStates maps each target that changed after a time to its state at that time, the zero State if
// the target did not exist.
type past map[string]memory.Image

// pastStates reads from the journal the states that were replaced after a time.
func (v *view) past(at time.Time) (past, error) {
	rows, err := v.query(`SELECT target, before FROM journal WHERE owner = ?1 AND version > coalesce(
			(SELECT version FROM journal WHERE owner = ?1 AND at <= ?2 ORDER BY version DESC LIMIT 1), 0)
		ORDER BY version DESC, ordinal DESC`, micros(at))
	texts := map[string]string{}
	err = eachRow(rows, err, func(row scanner) error {
		var target, before string
		err := row.Scan(&target, &before)
		texts[target] = before // rows come newest first, so the earliest state wins
		return err
	})
	p := past{}
	for target, text := range texts {
		var i memory.Image
		if err := (asImage{&i}).Scan(text); err != nil {
			return nil, err
		}
		p[target] = i
	}
	return p, wrap("read later changes", err)
}

// listAsOf returns a table's memories that matched at q's time: at least limit memories after q's
// cursor, or all if there are fewer.
func (v *view) listAsOf(from source, q memory.Query, p past, limit int) (then []memory.Memory, err error) {
	if from.table == turns.table {
		all, err := v.turnsAsOf(memory.TurnQuery{Conversation: q.Conversation, AsOf: q.At.AsOf}, p)
		for _, t := range all {
			if m := (memory.Memory{Turn: &t}); q.Matches(m) {
				then = append(then, m)
			}
		}
		return then, err
	}
	now, err := v.list(from, q, limit+len(p))
	if err != nil {
		return nil, err
	}
	for _, m := range now {
		if _, changed := p[from.prefix+m.ID()]; !changed {
			then = append(then, m)
		}
	}
	for target, i := range p {
		if m := memoryIn(i); strings.HasPrefix(target, from.prefix) && !i.IsZero() && q.Matches(m) {
			then = append(then, m)
		}
	}
	return then, nil
}

// turnsAsOf returns the turns recorded by q's time, with their status at that time. The SQL
// uses only the conditions of q on columns that never change.
func (v *view) turnsAsOf(q memory.TurnQuery, p past) (then []memory.Turn, err error) {
	all, err := v.turns(memory.TurnQuery{Conversation: q.Conversation, IDs: q.IDs, Chains: q.Chains, Refs: q.Refs, Statuses: anyStatus})
	for _, t := range all {
		if t.RecordedAt.After(q.AsOf) {
			continue
		}
		if t.LearnedAt.After(q.AsOf) {
			t.LearnedAt = time.Time{}
		}
		mark := memory.Image{Turn: &memory.TurnMark{ID: t.ID}}
		if was, changed := p[mark.Target()]; changed {
			t.Status = was.Status()
		}
		then = append(then, t)
	}
	return then, err
}

// allStatuses lists all statuses, to select every turn.
var anyStatus = []memory.Status{memory.Active, memory.Replaced, memory.Retired}
