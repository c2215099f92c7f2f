package sqlstore

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// past is what stood at a time, of all that changed later, by target; the zero
// Image where nothing stood.
type past map[string]memory.Image

// past reads from the journal what later changes found before them.
func (v *view) past(at time.Time) (past, error) {
	rows, err := v.query(`SELECT target, before FROM journal WHERE owner = ?1 AND version > coalesce(
			(SELECT version FROM journal WHERE owner = ?1 AND at <= ?2 ORDER BY version DESC LIMIT 1), 0)
		ORDER BY version DESC, ordinal DESC`, micros(at))
	texts := map[string]string{}
	_, err = collect(rows, err, func(row scanner) (target string, err error) {
		var before string
		err = row.Scan(&target, &before)
		texts[target] = before // the earliest comes last and stays
		return target, err
	})
	p := past{}
	for target, text := range texts {
		var i memory.Image
		if err := (asImage{&i}).Scan(text); err != nil {
			return nil, err
		}
		p[target] = i
	}
	return p, wrap("read what changed after a time", err)
}

// asOf returns what stood then, given what stands now.
func asOf[T any](now []T, p past, target func(T) string, of func(memory.Image) (T, bool)) []T {
	var then []T
	for _, x := range now {
		if _, changed := p[target(x)]; !changed {
			then = append(then, x)
		}
	}
	for _, i := range p {
		if x, ok := of(i); ok {
			then = append(then, x)
		}
	}
	return then
}

// listAsOf returns what of a table matched at q's time and follows its cursor, at
// least as much as limit if there is so much.
func (v *view) listAsOf(from source, q memory.Query, p past, limit int) ([]memory.Memory, error) {
	if from.table == turns.table {
		return v.listTurnsAsOf(q, p)
	}
	now, err := v.list(from, q, limit+len(p))
	if err != nil {
		return nil, err
	}
	after, err := startOf(q.Cursor)
	if err != nil {
		return nil, err
	}
	return asOf(now, p, target, func(i memory.Image) (memory.Memory, bool) {
		m := memory.Memory{Fact: i.Fact, Summary: i.Summary, Link: i.Link}
		if i.Link != nil {
			m.Fact = &i.Link.Fact
		}
		return m, strings.HasPrefix(target(m), from.prefix) && q.Matches(m) && after.leads(m)
	}), nil
}

func target(m memory.Memory) string {
	if m.Link != nil {
		return memory.Image{Link: m.Link}.Target()
	}
	return memory.Image{Fact: m.Fact, Summary: m.Summary}.Target()
}

func (v *view) listTurnsAsOf(q memory.Query, p past) ([]memory.Memory, error) {
	after, err := startOf(q.Cursor)
	if err != nil {
		return nil, err
	}
	then, err := v.turnsAsOf(memory.TurnQuery{Conversation: q.Conversation, AsOf: q.At.AsOf}, p)
	var found []memory.Memory
	for _, t := range then {
		if m := (memory.Memory{Turn: &t}); q.Matches(m) && after.leads(m) {
			found = append(found, m)
		}
	}
	return found, err
}

// turnsAsOf returns the turns that were recorded at q's time, with the marks that
// they had. It narrows by what of q never changes.
func (v *view) turnsAsOf(q memory.TurnQuery, p past) ([]memory.Turn, error) {
	all, err := v.turns(memory.TurnQuery{Conversation: q.Conversation, IDs: q.IDs, Chains: q.Chains, Refs: q.Refs, Statuses: anyStatus})
	var then []memory.Turn
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

// anyStatus selects every turn.
var anyStatus = []memory.Status{memory.Active, memory.Replaced, memory.Retired}
