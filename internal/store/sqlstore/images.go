package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// versionedState is the current state of a target, with the version at which it was written.
type thing struct {
	memory.Image
	version int64
}

// currentStateStatement returns a query that reads the current state of a state's target into result.
func (w *write) thingAt(like memory.Image, found *thing) ask {
	kind, key, _ := strings.Cut(like.Target(), ":")
	query, scan := thingOf(w.owner, kind)
	query, args := query+` = ?`, []any{w.owner, key}
	if r := like.Relation; r != nil { // compares columns, so that the primary key is used
		query, args = query+` AND from_fact = ? AND to_fact = ?`, append(args, r.From, r.To)
	}
	return ask{query, args, func(row scanner) (err error) { *found, err = scan(row); return err }}
}

// stateQuery returns a query for current states of a kind, and the function that scans a row. The
// caller adds the condition on the key, which is the part of a target after the kind.
func thingOf(owner memory.Owner, kind string) (query string, scan func(scanner) (thing, error)) {
	for _, t := range thingTables {
		if t.kind == kind {
			return `SELECT ` + t.columns + ` FROM ` + t.name + ` WHERE owner = ? AND ` + t.key, func(row scanner) (thing, error) {
				image, err := t.scan(owner, row)
				return thing{image, shelf.VersionOf(image)}, err
			}
		}
	}
	if kind == "conversation" {
		return `SELECT id, title, contexts, rules, status, version FROM conversations WHERE owner = ? AND id`, func(row scanner) (t thing, err error) {
			m := &memory.ConversationMark{}
			t.Conversation = m
			err = row.Scan(&m.ID, &m.Title, asList{&m.Contexts}, &m.Rules, &m.Status, &t.version)
			return t, err
		}
	}
	return `SELECT id, status, version FROM turns WHERE owner = ? AND id`, func(row scanner) (t thing, err error) {
		t.Turn = &memory.TurnMark{}
		err = row.Scan(&t.Turn.ID, &t.Turn.Status, &t.version)
		return t, err
	}
}

// saveState stores the state after a change. If the text changed, it deletes the text's vectors.
func (w *write) save(c memory.Change) error {
	switch after := c.After; {
	case after.Turn != nil:
		w.wrote[after.Turn.ID] = true
		return w.saveMark(c.Before.Turn, after.Turn)
	case after.Conversation != nil:
		m := after.Conversation
		err := w.exec(`UPDATE conversations SET title = ?, contexts = ?, rules = ?, status = ?, version = ? WHERE owner = ? AND id = ?`,
			m.Title, list(m.Contexts), m.Rules, m.Status, w.version, w.owner, m.ID)
		return wrap("change the conversation", err)
	}
	if err := w.saveRow(c.After); err != nil {
		return err
	}
	if f := c.After.Fact; f != nil {
		before := c.Before.Fact
		if before == nil {
			before = &memory.Fact{}
		}
		if err := w.point(`fact_tags`, `tag`, f.ID, before.Tags, f.Tags); err != nil {
			return err
		}
		if err := w.point(`fact_turns`, `turn`, f.ID, before.Provenance.Turns, f.Provenance.Turns); err != nil {
			return err
		}
	}
	id := shelf.MemoryID(c.After)
	if id == "" {
		return nil
	}
	w.wrote[id] = true
	if c.Before.IsZero() || shelf.TextOf(c.Before) == shelf.TextOf(c.After) {
		return nil
	}
	return wrap("delete the vectors of the old text", w.exec(`DELETE FROM vectors WHERE owner = ? AND memory = ?`, w.owner, id))
}

// saveRow writes a state of a kind in stateTables.
func (w *write) saveRow(image memory.Image) error {
	kind, _, _ := strings.Cut(image.Target(), ":")
	for _, t := range thingTables {
		if t.kind == kind {
			return wrap("write the "+kind, w.insert(t.upsert(), w.owner, t.fields(image)...))
		}
	}
	return fmt.Errorf("a %s has no table", kind)
}

// updateFactMap updates the rows of a table that maps values of a column to a fact.
func (w *write) point(table, column, fact string, before, after []string) error {
	if slices.Equal(before, after) {
		return nil
	}
	for _, gone := range before {
		if err := w.exec(`DELETE FROM `+table+` WHERE owner = ? AND `+column+` = ? AND fact = ?`, w.owner, gone, fact); err != nil {
			return fmt.Errorf("update %s: %w", table, err)
		}
	}
	for _, come := range after {
		if err := w.exec(`INSERT INTO `+table+` (owner, `+column+`, fact) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, w.owner, come, fact); err != nil {
			return fmt.Errorf("update %s: %w", table, err)
		}
	}
	return nil
}

// saveTurnState sets a turn's status, and updates its conversation's message count.
func (w *write) saveMark(before, after *memory.TurnMark) error {
	err := w.exec(`UPDATE turns SET status = ?, version = ? WHERE owner = ? AND id = ?`,
		after.Status, w.version, w.owner, after.ID)
	if err != nil {
		return fmt.Errorf("change the turn: %w", err)
	}
	if err := w.remember(before.Status, after); err != nil {
		return err
	}
	var more int
	if after.Status == memory.Active {
		more++
	}
	if before.Status == memory.Active {
		more--
	}
	if more == 0 {
		return nil
	}
	err = w.exec(`UPDATE conversations SET message_count = message_count + ? WHERE owner = ? AND id =
		(SELECT conversation FROM turns WHERE owner = ? AND id = ? AND role IN ('user', 'assistant'))`,
		more, w.owner, w.owner, after.ID)
	return wrap("count the conversation's turns", err)
}

// updateTombstone stores the tombstone of a retired turn, and deletes that of a restored turn.
func (w *write) remember(was memory.Status, after *memory.TurnMark) error {
	switch {
	case after.Status == memory.Retired:
		var role memory.Role
		var words string
		err := w.row(`SELECT role, content FROM turns WHERE owner = ? AND id = ?`, []any{w.owner, after.ID}, &role, &words)
		if err != nil {
			return fmt.Errorf("read the retired turn: %w", err)
		}
		return w.bury(w.owner, after.ID, role, words)
	case was == memory.Retired:
		return w.unbury(w.owner, after.ID)
	}
	return nil
}
