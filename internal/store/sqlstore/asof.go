package sqlstore

import (
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// imagesAsOf returns the images that stood at a time of targets that begin with
// a prefix like "fact:".
func (v *view) imagesAsOf(prefix string, at time.Time) ([]memory.Image, error) {
	rows, err := v.query(`SELECT after FROM journal j
		WHERE owner = ? AND target >= ? AND target < ? AND at <= ?
		AND NOT EXISTS (SELECT 1 FROM journal k WHERE k.owner = j.owner AND k.target = j.target
			AND (k.version, k.ordinal) > (j.version, j.ordinal) AND k.at <= ?)`,
		prefix, prefix[:len(prefix)-1]+";", micros(at), micros(at)) // ';' follows ':'
	images, err := collect(rows, err, func(row scanner) (i memory.Image, err error) { return i, row.Scan(asImage{&i}) })
	return images, wrap("read the journal as of a time", err)
}

// turnsAsOf returns the turns that were recorded by then, with the marks they had.
func (v *view) turnsAsOf(at time.Time) ([]memory.Turn, error) {
	statuses, err := v.statusesAsOf(at)
	if err != nil {
		return nil, err
	}
	rows, err := v.query(`SELECT `+turnColumns+` FROM turns WHERE owner = ? AND recorded_at <= ?`, micros(at))
	return collect(rows, err, func(row scanner) (memory.Turn, error) {
		t, err := scanTurn(v.owner, row)
		if status, changed := statuses[t.ID]; changed {
			t.Status = status
		}
		if t.LearnedAt.After(at) {
			t.LearnedAt = time.Time{}
		}
		return *t, err
	})
}

// statusesAsOf returns the status that turns had which were marked later.
func (v *view) statusesAsOf(at time.Time) (map[string]memory.Status, error) {
	rows, err := v.query(`SELECT before FROM journal WHERE owner = ? AND target >= 'turn:' AND target < 'turn;' AND at > ?
		ORDER BY version DESC, ordinal DESC`, micros(at))
	marks, err := collect(rows, err, func(row scanner) (i memory.Image, err error) { return i, row.Scan(asImage{&i}) })
	statuses := map[string]memory.Status{}
	for _, i := range marks { // the earliest is last and stays
		statuses[i.Turn.ID] = i.Turn.Status
	}
	return statuses, wrap("read the marks after a time", err)
}

// listAsOf returns everything that matched at q's time and follows its cursor.
func (v *view) listAsOf(q memory.Query) ([]memory.Memory, error) {
	var all []memory.Memory
	for _, prefix := range []string{"fact:", "link:", "summary:"} {
		images, err := v.imagesAsOf(prefix, q.At.AsOf)
		if err != nil {
			return nil, err
		}
		for _, i := range images {
			all = append(all, asMemory(i))
		}
	}
	if slices.Contains(q.Kinds, memory.KindTurn) {
		turns, err := v.turnsAsOf(q.At.AsOf)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			all = append(all, memory.Memory{Turn: &t})
		}
	}
	all = slices.DeleteFunc(all, func(m memory.Memory) bool { return !q.Matches(m) })
	if q.Cursor == "" {
		return all, nil
	}
	after, err := readCursor(q.Cursor)
	return slices.DeleteFunc(all, func(m memory.Memory) bool {
		at := micros(m.CreatedAt())
		return at > after.at || at == after.at && m.ID() >= after.id
	}), err
}

func asMemory(i memory.Image) memory.Memory {
	if i.Link != nil {
		return memory.Memory{Fact: &i.Link.Fact, Link: i.Link}
	}
	return memory.Memory{Fact: i.Fact, Summary: i.Summary}
}
