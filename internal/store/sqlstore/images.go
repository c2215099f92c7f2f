package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// versionedState is the current state of a target, with the version at which it was written.
type versionedState struct {
	memory.State
	version int64
}

// currentStateStatement returns a query that reads the current state of the target of planned into result.
func (w *ownerWrite) currentStateStatement(planned memory.State, result *versionedState) statement {
	kind, key, _ := strings.Cut(planned.Target(), ":")
	query, scan := stateQuery(w.owner, kind)
	query, args := query+` = ?`, []any{w.owner, key}
	if r := planned.Relation; r != nil { // conditions on single columns, so that the primary key is used
		query, args = query+` AND from_fact = ? AND to_fact = ?`, append(args, r.From, r.To)
	}
	return statement{query, args, func(row scanner) (err error) { *result, err = scan(row); return err }}
}

// stateQuery returns a query for current states of a kind, and the function that scans a row. The query
// ends with the key, the part of a target after the kind; the caller adds a comparison such as = ?.
func stateQuery(owner memory.Owner, kind string) (query string, scan func(scanner) (versionedState, error)) {
	for _, t := range stateTables {
		if t.kind == kind {
			return `SELECT ` + t.columns + ` FROM ` + t.name + ` WHERE owner = ? AND ` + t.key, func(row scanner) (versionedState, error) {
				image, err := t.scan(owner, row)
				return versionedState{image, ownerdata.VersionOf(image)}, err
			}
		}
	}
	if kind == "conversation" {
		return `SELECT id, title, contexts, rules, status, version FROM conversations WHERE owner = ? AND id`, func(row scanner) (t versionedState, err error) {
			m := &memory.ConversationState{}
			t.Conversation = m
			err = row.Scan(&m.ID, &m.Title, listColumn{&m.Contexts}, &m.Rules, &m.Status, &t.version)
			return t, err
		}
	}
	return `SELECT id, status, version FROM turns WHERE owner = ? AND id`, func(row scanner) (t versionedState, err error) {
		t.Turn = &memory.TurnState{}
		err = row.Scan(&t.Turn.ID, &t.Turn.Status, &t.version)
		return t, err
	}
}

// saveState stores the state after a change. If the text changed, it deletes the text's vectors.
func (w *ownerWrite) saveState(c memory.Change) error {
	switch after := c.After; {
	case after.Turn != nil:
		w.writtenIDs[after.Turn.ID] = true
		return w.saveTurnState(c.Before.Turn, after.Turn)
	case after.Conversation != nil:
		m := after.Conversation
		err := w.exec(`UPDATE conversations SET title = ?, contexts = ?, rules = ?, status = ?, version = ? WHERE owner = ? AND id = ?`,
			m.Title, encodeList(m.Contexts), m.Rules, m.Status, w.version, w.owner, m.ID)
		return wrap("change the conversation", err)
	}
	if err := w.saveStateRow(c.After); err != nil {
		return err
	}
	if f := c.After.Fact; f != nil {
		before := c.Before.Fact
		if before == nil {
			before = &memory.Fact{}
		}
		if err := w.updateFactRows(`fact_tags`, `tag`, f.ID, before.Tags, f.Tags); err != nil {
			return err
		}
		if err := w.updateFactRows(`fact_turns`, `turn`, f.ID, before.Provenance.Turns, f.Provenance.Turns); err != nil {
			return err
		}
	}
	id := ownerdata.MemoryID(c.After)
	if id == "" {
		return nil
	}
	w.writtenIDs[id] = true
	if c.Before.IsZero() || ownerdata.TextOf(c.Before) == ownerdata.TextOf(c.After) {
		return nil
	}
	return wrap("delete the vectors of the old text", w.exec(`DELETE FROM vectors WHERE owner = ? AND memory = ?`, w.owner, id))
}

// saveStateRow writes a state whose kind is in stateTables.
func (w *ownerWrite) saveStateRow(state memory.State) error {
	kind, _, _ := strings.Cut(state.Target(), ":")
	for _, t := range stateTables {
		if t.kind == kind {
			return wrap("write the "+kind, w.insert(t.upsertSQL(), w.owner, t.fields(state)...))
		}
	}
	return fmt.Errorf("no table has states of kind %s", kind)
}

// updateFactRows updates a fact's rows in a table that maps values of a column, such as tags, to facts.
func (w *ownerWrite) updateFactRows(table, column, factID string, oldValues, newValues []string) error {
	if slices.Equal(oldValues, newValues) {
		return nil
	}
	for _, removed := range oldValues {
		if err := w.exec(`DELETE FROM `+table+` WHERE owner = ? AND `+column+` = ? AND fact = ?`, w.owner, removed, factID); err != nil {
			return fmt.Errorf("update %s: %w", table, err)
		}
	}
	for _, added := range newValues {
		if err := w.exec(`INSERT INTO `+table+` (owner, `+column+`, fact) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, w.owner, added, factID); err != nil {
			return fmt.Errorf("update %s: %w", table, err)
		}
	}
	return nil
}

// saveTurnState sets a turn's status, and updates its tombstone and its conversation's message count.
func (w *ownerWrite) saveTurnState(before, after *memory.TurnState) error {
	err := w.exec(`UPDATE turns SET status = ?, version = ? WHERE owner = ? AND id = ?`,
		after.Status, w.version, w.owner, after.ID)
	if err != nil {
		return fmt.Errorf("change the turn: %w", err)
	}
	if err := w.updateTombstone(before.Status, after); err != nil {
		return err
	}
	var delta int
	if after.Status == memory.Active {
		delta++
	}
	if before.Status == memory.Active {
		delta--
	}
	if delta == 0 {
		return nil
	}
	err = w.exec(`UPDATE conversations SET message_count = message_count + ? WHERE owner = ? AND id =
		(SELECT conversation FROM turns WHERE owner = ? AND id = ? AND role IN ('user', 'assistant'))`,
		delta, w.owner, w.owner, after.ID)
	return wrap("count the conversation's turns", err)
}

// updateTombstone stores a tombstone for a retired turn, and deletes the tombstone of a restored turn.
func (w *ownerWrite) updateTombstone(previousStatus memory.Status, after *memory.TurnState) error {
	switch {
	case after.Status == memory.Retired:
		var role memory.Role
		var text string
		err := w.queryRow(`SELECT role, content FROM turns WHERE owner = ? AND id = ?`, []any{w.owner, after.ID}, &role, &text)
		if err != nil {
			return fmt.Errorf("read the retired turn: %w", err)
		}
		return w.storeTombstone(w.owner, after.ID, role, text)
	case previousStatus == memory.Retired:
		return w.deleteTombstone(w.owner, after.ID)
	}
	return nil
}
