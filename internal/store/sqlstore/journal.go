package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// writeJournal records a change with the state before it. The state after it is in the target's table
// until the target's next change journals it.
func (w *write) journal(run string, by memory.Author, ordinal int, c memory.Change) error {
	before, err := encodeImage(c.Before)
	if err != nil {
		return err
	}
	author := "" // "" means the run's author
	if c.Author != (memory.Author{}) && c.Author != by {
		if author, err = toJSON(c.Author); err != nil {
			return err
		}
	}
	err = w.exec(`INSERT INTO journal (owner, version, ordinal, run, target, action, base, old_id, new_id,
		reason, author, at, before) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.owner, w.version, ordinal, run, c.After.Target(), c.Action, c.Base, c.OldID, c.NewID,
		c.Reason, author, micros(w.at), before)
	return wrap("write the journal", err)
}

// Changes returns the journal: see [memory.Facts].
func (s *Store) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	where, err := changesWhere(owner, q)
	if err != nil {
		return memory.ChangePage{}, err
	}
	limit := shelf.PageSize(q.Limit)
	var page memory.ChangePage
	err = s.reads.see(ctx, owner, func(v *view) error {
		var entries []entry
		err := v.askPage(v.asking(`SELECT j.version, j.ordinal, j.run, j.target, j.action, j.base, j.old_id, j.new_id, j.reason,
			CASE j.author WHEN '' THEN r.author ELSE j.author END, j.at, j.before,
			(SELECT n.before FROM journal n WHERE n.owner = j.owner AND n.target = j.target
				AND (n.version, n.ordinal) > (j.version, j.ordinal) ORDER BY n.version, n.ordinal LIMIT 1)
			FROM journal j JOIN runs r ON r.owner = j.owner AND r.id = j.run `+where.text()+`
			ORDER BY j.version DESC, j.ordinal DESC`+limitOf(limit+1), where.args, func(row scanner) error {
			e, err := scanEntry(owner, row)
			entries = append(entries, e)
			return err
		}))
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		if len(entries) > limit {
			entries = entries[:limit]
			last := entries[limit-1]
			page.Next = shelf.WriteCursor(shelf.Place{ID: fmt.Sprintf("%d/%d", last.Version, last.ordinal)})
		}
		page.Changes, err = v.withAfter(entries)
		return wrap("read current states", err)
	})
	return page, err
}

// journalEntry is a row of the journal. A zero After stands for the target's current state.
type entry struct {
	memory.Change
	ordinal int
	target  string
}

func scanEntry(owner memory.Owner, row scanner) (entry, error) {
	e := entry{Change: memory.Change{Owner: owner}}
	err := row.Scan(&e.Version, &e.ordinal, &e.Run, &e.target, &e.Action, &e.Base, &e.OldID, &e.NewID, &e.Reason,
		asJSON{&e.Author}, asTime{&e.At}, asImage{&e.Before}, asImage{&e.After})
	e.ID = e.Run + "/" + strconv.Itoa(e.ordinal)
	return e, err
}

// addAfterStates adds the state after each change. The state gets the version of the change, even if
// a later write raised the target's version.
func (v *view) withAfter(entries []entry) ([]memory.Change, error) {
	var standing []string
	for _, e := range entries {
		if e.After.IsZero() {
			standing = append(standing, e.target)
		}
	}
	images, err := currentImages(v.owner, standing, func(query string, args ...any) (rows, error) { return v.query(query, args[1:]...) })
	if err != nil {
		return nil, err
	}
	var changes []memory.Change
	for _, e := range entries {
		if e.After.IsZero() {
			e.After = images[e.target]
		}
		e.After = shelf.Stamp(e.After, e.Version)
		changes = append(changes, e.Change)
	}
	return changes, nil
}

// currentStates returns the current states of targets.
func currentImages(owner memory.Owner, targets []string, query func(string, ...any) (rows, error)) (map[string]memory.Image, error) {
	ids := map[string]listed{}
	for _, t := range targets {
		kind, id, _ := strings.Cut(t, ":")
		ids[kind] = append(ids[kind], id)
	}
	images := map[string]memory.Image{}
	for kind, of := range ids {
		text, scan := thingOf(owner, kind)
		rows, err := query(text+` IN (SELECT value FROM json_each(?))`, owner, of)
		err = eachRow(rows, err, func(row scanner) error {
			i, err := scan(row)
			images[i.Target()] = i.Image
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the %s states: %w", kind, err)
		}
	}
	return images, nil
}

func changesWhere(owner memory.Owner, q memory.ChangeQuery) (where, error) {
	w := where{terms: []string{`j.owner = ?`}}
	if q.Target != "" {
		w.and(`j.target = ?`, q.Target)
	}
	if q.Fact != "" {
		asFact, asLink := "fact:"+q.Fact, "link:"+q.Fact
		w.and(`(j.target IN (?, ?) OR j.old_id = ? OR j.new_id = ?)`, asFact, asLink, q.Fact, q.Fact)
		// This repeats the conditions above, each in a query that an index answers.
		w.and(`j.version IN (SELECT version FROM journal WHERE owner = ? AND target IN (?, ?)
			UNION ALL SELECT version FROM journal WHERE owner = ? AND old_id <> '' AND old_id = ?
			UNION ALL SELECT version FROM journal WHERE owner = ? AND new_id <> '' AND new_id = ?)`,
			owner, asFact, asLink, owner, q.Fact, owner, q.Fact)
	}
	if q.Run != "" {
		w.run(owner, q.Run)
	}
	if q.Runs != "" {
		w.and(`j.version IN (SELECT version FROM runs WHERE owner = ? AND id >= ? AND id < ?)`, owner, q.Runs, q.Runs+string(utf8.MaxRune))
		w.and(`j.ordinal = 1`)
	}
	if q.ID != "" {
		at := strings.LastIndex(q.ID, "/")
		w.run(owner, q.ID[:max(at, 0)])
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
		w.and(`j.at > ?`, micros(q.After))
	}
	if q.Cursor != "" {
		after, err := shelf.ReadCursor(q.Cursor)
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

// filterRun selects a run's changes, by the run's version, which has an index.
func (w *where) run(owner memory.Owner, run string) {
	w.and(`j.version = (SELECT version FROM runs WHERE owner = ? AND id = ?)`, owner, run)
	w.and(`j.run = ?`, run)
}

// stateRecord is the JSON of a state in the journal, with the fields that the state's own JSON omits.
type imageRecord struct {
	memory.Image
	Hash    string `json:"hash,omitempty"`
	Version int64  `json:"version,omitempty"`
}

// encodeState returns the JSON that [stateColumn] scans, "" for the zero State.
func encodeImage(i memory.Image) (string, error) {
	if i.IsZero() {
		return "", nil
	}
	r := imageRecord{Image: i, Version: shelf.VersionOf(i)}
	switch {
	case i.Fact != nil:
		r.Hash = i.Fact.Hash
	case i.Link != nil:
		r.Hash = i.Link.Fact.Hash
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
type asImage struct{ image *memory.Image }

func (a asImage) Scan(src any) error {
	data, ok := src.(string)
	if !ok || data == "" {
		return nil
	}
	var r imageRecord
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		return fmt.Errorf("decode a state: %w", err)
	}
	*a.image = shelf.Stamp(r.Image, r.Version)
	switch {
	case a.image.Fact != nil:
		a.image.Fact.Hash = r.Hash
	case a.image.Link != nil:
		a.image.Link.Fact.Hash = r.Hash
	}
	return nil
}
