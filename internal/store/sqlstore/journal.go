package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// writeJournal records a change with the target's state before the change. The state after the change is
// in the target's table, until the target's next change moves it to the journal.
func (w *ownerWrite) writeJournal(runID string, runAuthor memory.Author, ordinal int, c memory.Change) error {
	before, err := encodeState(c.Before)
	if err != nil {
		return err
	}
	author := "" // "" means the run's author
	if c.Author != (memory.Author{}) && c.Author != runAuthor {
		if author, err = toJSON(c.Author); err != nil {
			return err
		}
	}
	err = w.exec(`INSERT INTO journal (owner, version, ordinal, run, target, action, base, old_id, new_id,
		reason, author, at, before) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.owner, w.version, ordinal, runID, c.After.Target(), c.Action, c.Base, c.OldID, c.NewID,
		c.Reason, author, toMicros(w.at), before)
	return wrap("write the journal", err)
}

// Changes returns the journal: see [memory.Facts].
func (s *Store) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	where, err := changesCondition(owner, q)
	if err != nil {
		return memory.ChangePage{}, err
	}
	limit := ownerdata.PageSize(q.Limit)
	var page memory.ChangePage
	err = s.reader.withSnapshot(ctx, owner, func(v *view) error {
		var entries []journalEntry
		err := v.runPageBatch(v.ownerStatement(`SELECT j.version, j.ordinal, j.run, j.target, j.action, j.base, j.old_id, j.new_id, j.reason,
			CASE j.author WHEN '' THEN r.author ELSE j.author END, j.at, j.before,
			(SELECT n.before FROM journal n WHERE n.owner = j.owner AND n.target = j.target
				AND (n.version, n.ordinal) > (j.version, j.ordinal) ORDER BY n.version, n.ordinal LIMIT 1)
			FROM journal j JOIN runs r ON r.owner = j.owner AND r.id = j.run `+where.clause()+`
			ORDER BY j.version DESC, j.ordinal DESC`+limitClause(limit+1), where.args, func(row scanner) error {
			e, err := scanJournalRow(owner, row)
			entries = append(entries, e)
			return err
		}))
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		if len(entries) > limit {
			entries = entries[:limit]
			last := entries[limit-1]
			page.Next = ownerdata.EncodeCursor(ownerdata.ListPosition{ID: fmt.Sprintf("%d/%d", last.Version, last.ordinal)})
		}
		page.Changes, err = v.addAfterStates(entries)
		return wrap("read current states", err)
	})
	return page, err
}

// journalEntry is a row of the journal. A zero After stands for the target's current state.
type journalEntry struct {
	memory.Change
	ordinal int    // position of the change in its run, from 1
	target  string // the changed target, such as "fact:ID"
}

func scanJournalRow(owner memory.Owner, row scanner) (journalEntry, error) {
	e := journalEntry{Change: memory.Change{Owner: owner}}
	err := row.Scan(&e.Version, &e.ordinal, &e.Run, &e.target, &e.Action, &e.Base, &e.OldID, &e.NewID, &e.Reason,
		jsonColumn{&e.Author}, timeColumn{&e.At}, stateColumn{&e.Before}, stateColumn{&e.After})
	e.ID = e.Run + "/" + strconv.Itoa(e.ordinal)
	return e, err
}

// addAfterStates returns the entries' changes and completes their After states. An After state has the
// version of its change, even if a later write raised the target's current version.
func (v *view) addAfterStates(entries []journalEntry) ([]memory.Change, error) {
	var currentTargets []string
	for _, e := range entries {
		if e.After.IsZero() {
			currentTargets = append(currentTargets, e.target)
		}
	}
	states, err := currentStates(v.owner, currentTargets, func(query string, args ...any) (rows, error) { return v.query(query, args[1:]...) })
	if err != nil {
		return nil, err
	}
	var changes []memory.Change
	for _, e := range entries {
		if e.After.IsZero() {
			e.After = states[e.target]
		}
		e.After = ownerdata.WithVersion(e.After, e.Version)
		changes = append(changes, e.Change)
	}
	return changes, nil
}

// currentStates returns the current states by target. runQuery gets the owner as the first SQL argument.
func currentStates(owner memory.Owner, targets []string, runQuery func(string, ...any) (rows, error)) (map[string]memory.State, error) {
	ids := map[string]textList{}
	for _, t := range targets {
		kind, id, _ := strings.Cut(t, ":")
		ids[kind] = append(ids[kind], id)
	}
	states := map[string]memory.State{}
	for kind, kindIDs := range ids {
		text, scan := stateQuery(owner, kind)
		rows, err := runQuery(text+` IN (SELECT value FROM json_each(?))`, owner, kindIDs)
		err = eachRow(rows, err, func(row scanner) error {
			i, err := scan(row)
			states[i.Target()] = i.State
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the %s states: %w", kind, err)
		}
	}
	return states, nil
}

func changesCondition(owner memory.Owner, q memory.ChangeQuery) (where, error) {
	w := where{terms: []string{`j.owner = ?`}}
	if q.Target != "" {
		w.and(`j.target = ?`, q.Target)
	}
	if q.Fact != "" {
		asFact, asLink := "fact:"+q.Fact, "link:"+q.Fact
		w.and(`(j.target IN (?, ?) OR j.old_id = ? OR j.new_id = ?)`, asFact, asLink, q.Fact, q.Fact)
		// This repeats the conditions above as subqueries, each of which an index answers.
		w.and(`j.version IN (SELECT version FROM journal WHERE owner = ? AND target IN (?, ?)
			UNION ALL SELECT version FROM journal WHERE owner = ? AND old_id <> '' AND old_id = ?
			UNION ALL SELECT version FROM journal WHERE owner = ? AND new_id <> '' AND new_id = ?)`,
			owner, asFact, asLink, owner, q.Fact, owner, q.Fact)
	}
	if q.Run != "" {
		w.filterRun(owner, q.Run)
	}
	if q.RunPrefix != "" {
		w.and(`j.version IN (SELECT version FROM runs WHERE owner = ? AND id >= ? AND id < ?)`, owner, q.RunPrefix, q.RunPrefix+string(utf8.MaxRune))
		w.and(`j.ordinal = 1`)
	}
	if q.ID != "" {
		at := strings.LastIndex(q.ID, "/")
		w.filterRun(owner, q.ID[:max(at, 0)])
		ordinal, err := strconv.Atoi(q.ID[at+1:])
		if err != nil {
			ordinal = -1 // matches no change
		}
		w.and(`j.ordinal = ?`, ordinal)
	}
	if q.Action != "" {
		w.and(`j.action = ?`, q.Action)
	}
	if !q.After.IsZero() {
		w.and(`j.at > ?`, toMicros(q.After))
	}
	if q.Cursor != "" {
		after, err := ownerdata.DecodeCursor(q.Cursor)
		if err != nil {
			return where{}, err
		}
		var version, ordinal int64
		if _, err := fmt.Sscanf(after.ID, "%d/%d", &version, &ordinal); err != nil {
			return where{}, memory.Errorf(memory.Invalid, "invalid cursor %q", q.Cursor)
		}
		w.and(`(j.version, j.ordinal) < (?, ?)`, version, ordinal)
	}
	return w, nil
}

// filterRun selects a run's changes. It compares the run's version first, since versions have an index.
func (w *where) filterRun(owner memory.Owner, runID string) {
	w.and(`j.version = (SELECT version FROM runs WHERE owner = ? AND id = ?)`, owner, runID)
	w.and(`j.run = ?`, runID)
}

// stateRecord is the JSON of a state in the journal, with the fields that the state's own JSON omits.
type stateRecord struct {
	memory.State
	Hash    string `json:"hash,omitempty"`
	Version int64  `json:"version,omitempty"`
}

// encodeState returns the JSON that [stateColumn] scans, "" for the zero State.
func encodeState(state memory.State) (string, error) {
	if state.IsZero() {
		return "", nil
	}
	r := stateRecord{State: state, Version: ownerdata.VersionOf(state)}
	switch {
	case state.Fact != nil:
		r.Hash = state.Fact.Hash
	case state.Link != nil:
		r.Hash = state.Link.Fact.Hash
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return "", memory.Errorf(memory.Invalid, "encode the state: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// stateColumn scans the result of [encodeState].
type stateColumn struct{ state *memory.State }

func (a stateColumn) Scan(src any) error {
	data, ok := src.(string)
	if !ok || data == "" {
		return nil
	}
	var r stateRecord
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		return fmt.Errorf("decode a state: %w", err)
	}
	*a.state = ownerdata.WithVersion(r.State, r.Version)
	switch {
	case a.state.Fact != nil:
		a.state.Fact.Hash = r.Hash
	case a.state.Link != nil:
		a.state.Link.Fact.Hash = r.Hash
	}
	return nil
}
