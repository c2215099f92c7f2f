package vault

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci/memory"
)

// recordsFile is the database of the records, in the vault's own folder.
const recordsFile = "files.db"

// record describes Loci's last write of a file.
type record struct {
	Path    string       `json:"path"` // slash-separated path in the vault
	Owner   memory.Owner `json:"owner,omitempty"`
	Target  string       `json:"id,omitempty"` // in the form of [memory.State.Target]; "" removes the record
	SHA     string       `json:"sha256,omitempty"`
	Version int64        `json:"version,omitempty"` // the memory's version in the file
	Size    int64        `json:"size"`
	Mtime   int64        `json:"mtime,omitempty"` // nanoseconds since 1970

	// Dirty means that the file must be written. A dirty file that is missing does not count as
	// deleted by a person, unless a scan found the file before.
	Dirty  bool `json:"due,omitempty"`
	Exists bool `json:"there,omitempty"` // whether a scan found the file

	// Unlearned means that Loci must still learn from the turn. Learning changes no version, so each
	// start checks whether Loci has learned from the turn since.
	Unlearned bool `json:"open,omitempty"`

	// HasRelations means that Loci wrote relations into the file. Otherwise relations in the file are
	// from another machine's Loci, and stay.
	HasRelations bool `json:"related,omitempty"`

	text string // written text; "" once saved with the record
}

// id returns the memory's id, without its kind.
func (r *record) id() string {
	_, id, _ := strings.Cut(r.Target, ":")
	return id
}

// hasHash reports whether sha is the hash of Loci's last write.
func (r *record) hasHash(sha string) bool { return r != nil && r.SHA == sha }

// countsAsDeleted reports whether a person must have deleted the file if it is missing.
func (r *record) countsAsDeleted() bool { return r != nil && (!r.Dirty || r.Exists) }

// isUnwritten reports whether Loci never wrote the file.
func (r *record) isUnwritten() bool { return r == nil || r.SHA == "" }

// isDeleted reports whether a person deleted the file. The record then only reserves the name.
func (r *record) isDeleted() bool { return r != nil && r.SHA == "" && r.Dirty }

// key identifies a file's content by owner and target.
type key struct {
	owner  memory.Owner
	target string
}

// recordIndex has the records, in memory and in the database [recordsFile]. The wrapped store cannot
// hold the records, since they show whether the store itself was replaced by an older one.
type recordIndex struct {
	db              *sql.DB
	byPath          map[string]*record
	byTarget        map[key]*record
	writtenVersions map[memory.Owner]int64 // versions up to which all files were written, by owner
	rebuild         rebuildState
}

// rebuildState is the time of the last rebuild, and whether a rebuild is in progress.
type rebuildState struct {
	At         time.Time `json:"at,omitzero"`
	InProgress bool      `json:"under_way,omitempty"`
}

// row is a row of the table records. A nil value deletes the row.
type row struct {
	kind, name string
	value      any
}

// The kinds of rows, with names and values.
const (
	fileRow    = "file"    // name: a path, value: a record
	ownerRow   = "owner"   // name: an owner, value: the version up to which all files were written
	rebuildRow = "rebuild" // name: "", value: a rebuildState
)

// openRecords reads the records. It replaces a damaged database by an empty database: all files are
// then compared with the wrapped store.
func openRecords(file string) (*recordIndex, error) {
	x, err := loadRecords(file)
	var damaged *sqlite.Error
	if !errors.As(err, &damaged) || damaged.Code() != sqlite3.SQLITE_NOTADB && damaged.Code() != sqlite3.SQLITE_CORRUPT {
		return x, err
	}
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(file + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return loadRecords(file)
}

func loadRecords(file string) (*recordIndex, error) {
	at := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file)}
	db, err := sql.Open("sqlite", at.String()+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=secure_delete(on)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	x := &recordIndex{db: db, byPath: map[string]*record{}, byTarget: map[key]*record{}, writtenVersions: map[memory.Owner]int64{}}
	if err := x.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read the records of the files: %w", err), db.Close())
	}
	return x, nil
}

func (x *recordIndex) load() error {
	const schema = `CREATE TABLE IF NOT EXISTS records (kind TEXT, name TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
		CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, owner TEXT, target TEXT, sha TEXT, text TEXT, UNIQUE (owner, target, sha))`
	if _, err := x.db.Exec(schema); err != nil {
		return err
	}
	rows, err := x.db.Query(`SELECT kind, name, value FROM records`)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err returns errors
	for rows.Next() {
		var kind, name string
		var value []byte
		if err := rows.Scan(&kind, &name, &value); err != nil {
			return err
		}
		switch kind {
		case fileRow:
			r := &record{}
			err = json.Unmarshal(value, r)
			x.setRecord(r)
		case ownerRow:
			x.writtenVersions[memory.Owner(name)], err = strconv.ParseInt(string(value), 10, 64)
		case rebuildRow:
			err = json.Unmarshal(value, &x.rebuild)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
	}
	return rows.Err()
}

// saveRows writes rows in one transaction.
func (x *recordIndex) saveRows(rows ...row) error {
	if len(rows) == 0 {
		return nil
	}
	tx, err := x.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	put, err := tx.Prepare(`INSERT OR REPLACE INTO records (kind, name, value) VALUES (?, ?, ?)`)
	if err != nil {
		return err
	}
	defer put.Close() //nolint:errcheck // the transaction returns errors
	for _, r := range rows {
		text, err := json.Marshal(r.value)
		if err != nil {
			return err
		}
		if r.value == nil {
			_, err = tx.Exec(`DELETE FROM records WHERE kind = ? AND name = ?`, r.kind, r.name)
		} else {
			_, err = put.Exec(r.kind, r.name, text)
		}
		if file, ok := r.value.(*record); ok && file.text != "" && err == nil {
			err = saveText(tx, file)
		}
		if err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, r := range rows {
		if file, ok := r.value.(*record); ok {
			file.text = ""
		}
	}
	return nil
}

// update saves records in the database and in memory. It deletes records without a target.
func (x *recordIndex) update(records ...*record) error {
	if err := x.saveRecords(records...); err != nil {
		return err
	}
	for _, r := range records {
		if x.removeRecord(r.Path); r.Target != "" {
			x.setRecord(r)
		}
	}
	return nil
}

// markDirty records that a file must be written. Until it is, a missing file does not count as deleted.
func (x *recordIndex) markDirty(r *record) error {
	if r == nil {
		return nil
	}
	dirty := *r
	dirty.Dirty, dirty.Exists = true, false
	return x.update(&dirty)
}

// saveRecords saves records with their texts, and then drops the texts from memory.
func (x *recordIndex) saveRecords(records ...*record) error {
	rows := make([]row, len(records))
	for i, r := range records {
		if rows[i] = (row{kind: fileRow, name: r.Path}); r.Target != "" {
			rows[i].value = r
		}
	}
	return x.saveRows(rows...)
}

// maxTexts limits the number of earlier texts that are stored for each file.
const maxTexts = 16

// saveText saves the last written text of a file, and deletes the oldest texts above maxTexts.
func saveText(tx *sql.Tx, r *record) error {
	_, err := tx.Exec(`INSERT OR REPLACE INTO texts (owner, target, sha, text) VALUES (?, ?, ?, ?)`, r.Owner, r.Target, r.SHA, r.text)
	if err == nil {
		_, err = tx.Exec(`DELETE FROM texts WHERE owner = ?1 AND target = ?2 AND id NOT IN
			(SELECT id FROM texts WHERE owner = ?1 AND target = ?2 ORDER BY id DESC LIMIT ?3)`, r.Owner, r.Target, maxTexts+1)
	}
	return err
}

// writtenTexts returns the texts that Loci wrote for a target: last is the text with the hash in the record,
// earlier are the other texts, latest first. After a crash, a text in earlier may be newer than last.
func (x *recordIndex) writtenTexts(k key) (last string, earlier []string, err error) {
	r := x.byTarget[k]
	rows, err := x.db.Query(`SELECT sha, text FROM texts WHERE owner = ? AND target = ? ORDER BY id DESC`, k.owner, k.target)
	if err != nil {
		return "", nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var sha, text string
		if err := rows.Scan(&sha, &text); err != nil {
			return "", nil, err
		}
		if r.hasHash(sha) {
			last = text
		} else {
			earlier = append(earlier, text)
		}
	}
	return last, earlier, rows.Err()
}

// isEarlierText reports whether a text equals a text in earlier, but not last. It ignores line ends, since
// git changes them.
func isEarlierText(text, last string, earlier []string) bool {
	for _, variant := range []string{text, strings.ReplaceAll(text, "\r\n", "\n")} {
		if variant == last || slices.Contains(earlier, variant) {
			return variant != last
		}
	}
	return false
}

// deleteTextsIf deletes the texts of a target if an erasure is in progress.
func (x *recordIndex) deleteTextsIf(isErasing bool, k key) error {
	if !isErasing {
		return nil
	}
	_, err := x.db.Exec(`DELETE FROM texts WHERE owner = ? AND target = ?`, k.owner, k.target)
	return err
}

func (x *recordIndex) saveVersions(versions map[memory.Owner]int64) error {
	var rows []row
	for owner, version := range versions {
		if x.writtenVersions[owner] != version {
			x.writtenVersions[owner] = version
			rows = append(rows, row{ownerRow, string(owner), version})
		}
	}
	return x.saveRows(rows...)
}

// beginRebuild removes the records of the included owners, so that their files count as added.
func (x *recordIndex) beginRebuild(includes func(memory.Owner) bool) error {
	x.rebuild.InProgress = true
	rows := []row{{rebuildRow, "", x.rebuild}}
	for _, r := range slices.Collect(maps.Values(x.byPath)) {
		if includes(r.Owner) {
			x.removeRecord(r.Path)
			rows = append(rows, row{kind: fileRow, name: r.Path})
		}
	}
	for owner := range x.writtenVersions {
		if includes(owner) {
			delete(x.writtenVersions, owner)
			rows = append(rows, row{kind: ownerRow, name: string(owner)})
		}
	}
	return x.saveRows(rows...)
}

// endRebuild saves the records of the rebuilt files. The next scan compares the files' content.
func (x *recordIndex) endRebuild(records []*record) error {
	x.rebuild.InProgress = false
	return errors.Join(x.update(records...), x.saveRows(row{rebuildRow, "", x.rebuild}))
}

func (x *recordIndex) setRecord(r *record) {
	if old := x.byTarget[key{r.Owner, r.Target}]; old != nil && old.Path != r.Path && x.byPath[old.Path] == old {
		delete(x.byPath, old.Path)
	}
	if old := x.byPath[r.Path]; old != nil && x.byTarget[key{old.Owner, old.Target}] == old {
		delete(x.byTarget, key{old.Owner, old.Target})
	}
	x.byPath[r.Path], x.byTarget[key{r.Owner, r.Target}] = r, r
}

func (x *recordIndex) removeRecord(path string) {
	if r := x.byPath[path]; r != nil {
		delete(x.byPath, path)
		if k := (key{r.Owner, r.Target}); x.byTarget[k] == r {
			delete(x.byTarget, k)
		}
	}
}

// compact moves the write-ahead log into the database file, so that no deleted content remains.
func (x *recordIndex) compact() error {
	_, err := x.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
