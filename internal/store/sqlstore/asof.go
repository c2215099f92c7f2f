package sqlstore

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// pastStates maps each target that changed after a time to its state at that time, the zero State if
// the target did not exist.
type pastStates map[string]memory.State

// pastStates reads from the journal the states that were replaced after a time.
func (v *view) pastStates(at time.Time) (pastStates, error) {
	rows, err := v.query(`SELECT target, before FROM journal WHERE owner = ?1 AND version > coalesce(
			(SELECT version FROM journal WHERE owner = ?1 AND at <= ?2 ORDER BY version DESC LIMIT 1), 0)
		ORDER BY version DESC, ordinal DESC`, toMicros(at))
	texts := map[string]string{}
	err = eachRow(rows, err, func(row scanner) error {
		var target, before string
		err := row.Scan(&target, &before)
		texts[target] = before // rows come newest first, so the oldest state overwrites later ones
		return err
	})
	p := pastStates{}
	for target, text := range texts {
		var i memory.State
		if err := (stateColumn{&i}).Scan(text); err != nil {
			return nil, err
		}
		p[target] = i
	}
	return p, wrap("read later changes", err)
}

// listAsOf returns the memories of a table that matched q at q.At.AsOf: at least limit memories after q's
// cursor, or all if there are fewer.
func (v *view) listAsOf(table memoryTable, q memory.Query, past pastStates, limit int) (matches []memory.Memory, err error) {
	if table.name == turns.name {
		all, err := v.turnsAsOf(memory.TurnQuery{Conversation: q.Conversation, AsOf: q.At.AsOf}, past)
		for _, t := range all {
			if m := (memory.Memory{Turn: &t}); q.Matches(m) {
				matches = append(matches, m)
			}
		}
		return matches, err
	}
	current, err := v.listTable(table, q, limit+len(past))
	if err != nil {
		return nil, err
	}
	for _, m := range current {
		if _, changed := past[table.prefix+m.ID()]; !changed {
			matches = append(matches, m)
		}
	}
	for target, i := range past {
		if m := memoryOf(i); strings.HasPrefix(target, table.prefix) && !i.IsZero() && q.Matches(m) {
			matches = append(matches, m)
		}
	}
	return matches, nil
}

// turnsAsOf returns the turns recorded until q.AsOf, with their status at that time. It applies only
// q's conditions on columns that never change; the caller applies the other conditions.
func (v *view) turnsAsOf(q memory.TurnQuery, past pastStates) (matches []memory.Turn, err error) {
	all, err := v.currentTurns(memory.TurnQuery{Conversation: q.Conversation, IDs: q.IDs, Chains: q.Chains, Refs: q.Refs, Statuses: allStatuses})
	for _, t := range all {
		if t.RecordedAt.After(q.AsOf) {
			continue
		}
		if t.LearnedAt.After(q.AsOf) {
			t.LearnedAt = time.Time{}
		}
		mark := memory.State{Turn: &memory.TurnState{ID: t.ID}}
		if earlier, changed := past[mark.Target()]; changed {
			t.Status = earlier.Status()
		}
		matches = append(matches, t)
	}
	return matches, err
}

// allStatuses lists all statuses of turns, so that a query selects every turn.
var allStatuses = []memory.Status{memory.Active, memory.Replaced, memory.Retired}
