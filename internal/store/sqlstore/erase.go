package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Erase removes text permanently: see [memory.Eraser]. One transaction removes the text from the rows.
// The free pages and the log of an SQLite file may contain the text until Loci rewrites the file, within
// a minute or at the next start.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	if err := run.Check(owner); err != nil {
		return memory.Receipt{}, err
	}
	done, err := s.committer.beginErasure(ctx)
	if err != nil {
		return memory.Receipt{}, err
	}
	defer done()
	return s.writeRun(ctx, owner, func(t *tx) (memory.Receipt, error) { return t.erase(owner, run, ids) })
}

// erase erases memories by id. [memory.State.Erased] defines which fields an erased memory retains.
func (t *tx) erase(owner memory.Owner, run memory.Run, ids []string) (memory.Receipt, error) {
	if first, found, err := t.storedReceipt(owner, run.ID); found || err != nil {
		return first, err
	}
	w, err := t.beginOwnerWrite(owner, false)
	if err != nil {
		return memory.Receipt{}, err
	}
	original, err := w.loadErasureData(ids)
	if err != nil {
		return memory.Receipt{}, err
	}
	erased := original.Clone()
	result, err := erased.Erase(owner, run, ids, w.at)
	if err != nil {
		return memory.Receipt{}, err
	}
	if w.version = result.Version; result.Changes > 0 {
		if err := w.storeErasure(run, original, erased); err != nil {
			return memory.Receipt{}, fmt.Errorf("erase: %w", err)
		}
	}
	receipt, err := w.finishRun(run, result.Changes)
	if err != nil || result.Changes == 0 {
		return receipt, err
	}
	return receipt, w.eraseTextInOtherTables()
}

// loadErasureData loads the data that an erasure of ids changes: the states with these ids, the turns'
// conversations, and the journal entries about all of these.
func (w *ownerWrite) loadErasureData(ids []string) (*ownerdata.Data, error) {
	data := new(ownerdata.Data).Clone()
	data.Version = w.version
	var targets textList
	for _, id := range ids {
		targets = append(targets, "fact:"+id, "link:"+id, "summary:"+id, "context:"+id, "profile:"+id)
	}
	things, err := currentStates(w.owner, targets, w.query)
	if err != nil {
		return nil, err
	}
	data.States = things
	conversationIDs := append(textList{}, ids...)
	err = w.readWhereIn(`SELECT `+turnColumns+` FROM turns WHERE owner = ? AND id`, ids, func(row scanner) error {
		t, err := scanTurn(w.owner, row)
		data.Turns[t.ID], conversationIDs = *t, append(conversationIDs, t.Conversation)
		targets = append(targets, memory.State{Turn: &memory.TurnState{ID: t.ID}}.Target())
		return err
	})
	if err != nil {
		return nil, err
	}
	err = w.readWhereIn(`SELECT `+conversationColumns+` FROM conversations WHERE owner = ? AND id`, conversationIDs, func(row scanner) error {
		c, err := scanConversation(w.owner, row)
		data.Conversations[c.ID], targets = c, append(targets, memory.State{Conversation: &memory.ConversationState{ID: c.ID}}.Target())
		return err
	})
	if err == nil && len(data.Turns) > 0 {
		data.TombstoneKey, err = w.tombstoneKey(w.owner)
	}
	for column, of := range map[string]textList{"target": targets, "old_id": ids, "new_id": ids} {
		if err == nil {
			err = w.readWhereIn(`SELECT version, ordinal, run, target, old_id, new_id, reason, before FROM journal WHERE owner = ? AND `+column+` <> '' AND `+column, of, func(row scanner) error {
				c, err := scanErasableChange(row, things)
				data.Journal = append(data.Journal, c)
				return err
			})
		}
	}
	return data, err
}

// readWhereIn scans the rows whose column has one of values. query ends with the column's name.
func (w *ownerWrite) readWhereIn(query string, values textList, scan func(scanner) error) error {
	rows, err := w.query(query+` IN (SELECT value FROM json_each(?))`, w.owner, values)
	return wrap("read the rows to erase", eachRow(rows, err, scan))
}

// scanErasableChange reads a change from the journal. Its After is the target's current state in states.
// The After of a turn or a conversation has only the id.
func scanErasableChange(row scanner, states map[string]memory.State) (c memory.Change, err error) {
	var target string
	var ordinal int
	err = row.Scan(&c.Version, &ordinal, &c.Run, &target, &c.OldID, &c.NewID, &c.Reason, stateColumn{&c.Before})
	c.ID, c.After = fmt.Sprintf("%s/%d", c.Run, ordinal), states[target]
	switch kind, id, _ := strings.Cut(target, ":"); kind {
	case "turn":
		c.After.Turn = &memory.TurnState{ID: id}
	case "conversation":
		c.After.Conversation = &memory.ConversationState{ID: id}
	}
	return c, err
}

// storeErasure writes the differences between the original data and the data after the erasure.
func (w *ownerWrite) storeErasure(run memory.Run, original, erased *ownerdata.Data) error {
	var errs []error
	do := func(query string, args ...any) { errs = append(errs, w.exec(query, args...)) }
	for target, after := range erased.States {
		if before := original.States[target]; before != after {
			errs = append(errs, w.saveState(memory.Change{Before: before, After: after}))
		}
	}
	for target, before := range original.States {
		if _, there := erased.States[target]; !there { // an erased profile entry: its key is erased, too
			do(`DELETE FROM profile WHERE owner = ? AND key = ?`, w.owner, before.Profile.Key)
			do(`UPDATE journal SET target = ? WHERE owner = ? AND target = ?`, before.Erased(run.ID).Target(), w.owner, target)
		}
	}
	for turn, mark := range erased.Tombstones {
		do(`INSERT INTO tombstones (owner, mark, turn) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, w.owner, mark, turn)
	}
	for id, t := range erased.Turns {
		if before := original.Turns[id]; before != t {
			do(`UPDATE turns SET content = '', project = '', agent = '', given = '', foreign_ranges = '', no_learn = true WHERE owner = ? AND id = ?`, w.owner, id)
			errs = append(errs, w.saveState(memory.Change{Before: turnState(before), After: turnState(t)}))
		}
	}
	for id, c := range erased.Conversations {
		do(`UPDATE conversations SET title = ?, project = ?, agent = ?, contexts = ?, rules = ?, status = ?, version = ? WHERE owner = ? AND id = ?`,
			c.Title, c.Project, c.Agent, encodeList(c.Contexts), c.Rules, c.Status, c.Version, w.owner, id)
	}
	for i, c := range erased.Journal {
		if i >= len(original.Journal) {
			_, id, _ := strings.Cut(c.After.Target(), ":")
			do(`DELETE FROM vectors WHERE owner = ? AND memory = ?`, w.owner, id)
			errs = append(errs, w.writeJournal(run.ID, run.Author, ownerdata.Ordinal(c), c))
			continue
		}
		before, err := encodeState(c.Before)
		errs = append(errs, err)
		do(`UPDATE journal SET reason = ?, before = ? WHERE owner = ? AND version = ? AND ordinal = ?`, c.Reason, before, w.owner, c.Version, ownerdata.Ordinal(c))
	}
	return errors.Join(errs...)
}

func turnState(t memory.Turn) memory.State {
	return memory.State{Turn: &memory.TurnState{ID: t.ID, Status: t.Status}}
}

// eraseModelReasons removes the reasons of changes by models, since a reason may quote erased text.
func (w *ownerWrite) eraseModelReasons() error {
	const byModel = `{"kind":"model"%` // beginning of the JSON of an author who is a model
	return wrap("erase the reasons of models", w.exec(`UPDATE journal SET reason = '' WHERE owner = ?1 AND reason <> '' AND (author LIKE ?2
		OR author = '' AND run IN (SELECT id FROM runs WHERE owner = ?1 AND author LIKE ?2))`, w.owner, byModel))
}

// eraseTextInOtherTables removes text that tables without states may contain, such as traces, and makes
// the owner's indexes reload everything.
func (w *ownerWrite) eraseTextInOtherTables() error {
	if err := w.eraseModelReasons(); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM trace_facts WHERE owner = ?`,
		`DELETE FROM traces WHERE owner = ?`,
		`UPDATE jobs SET error = '' WHERE owner = ? AND error <> ''`,
		`UPDATE owners SET horizon = version WHERE owner = ?`,
	} {
		if err := w.exec(statement, w.owner); err != nil {
			return fmt.Errorf("erase the text in other tables: %w", err)
		}
	}
	if w.erasesText = true; w.session.translator != nil { // the operator of a server is responsible for its files
		return nil
	}
	return w.markForVacuum()
}
