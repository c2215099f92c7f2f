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
	Target  string       `json:"id,omitempty"` // in the form of [memory.Image.Target]; "" removes the record
	SHA     string       `json:"sha256,omitempty"`
	Version int64        `json:"version,omitempty"` // the memory's version in the file
	Size    int64        `json:"size"`
	Mtime   int64        `json:"mtime,omitempty"` // nanoseconds since 1970

	// Dirty means that the file must be written. If a dirty file is missing, no person deleted the
	// file, unless a scan had found the file (Exists).
	Due   bool `json:"due,omitempty"`
	There bool `json:"there,omitempty"`

	// Unlearned means that Loci has not learned from the turn. Learning changes no version, so a
	// start checks the turn again.
	Open bool `json:"open,omitempty"`

	// Related means that Loci writes the file's relations; otherwise another machine's Loci does.
	Related bool `json:"related,omitempty"`

	text string // written text; "" once saved with the record
}

// id returns the memory's id, without its kind.
func (r *record) id() string {
	_, id, _ := strings.Cut(r.Target, ":")
	return id
}

// hasHash reports whether sha is the hash of Loci's last write.
func (r *record) own(sha string) bool { return r != nil && r.SHA == sha }

// countsAsDeleted reports whether a person must have deleted the file if it is missing.
func (r *record) deletable() bool { return r != nil && (!r.Due || r.There) }

// isUnwritten reports whether Loci never wrote the file.
func (r *record) none() bool { return r == nil || r.SHA == "" }

// isDeleted reports whether a person deleted the file. The record then only reserves the name.
func (r *record) isName() bool { return r != nil && r.SHA == "" && r.Due }

// key identifies a file's content by owner and target.
type key struct {
	owner  memory.Owner
	target string
}

// recordIndex has the records, in memory and in the database [recordsFile]. They are not in the
// wrapped store: only records beside the files can detect that the store was replaced by an older
// store.
type index struct {
	db      *sql.DB
	paths   map[string]*record
	targets map[key]*record
	written map[memory.Owner]int64 // versions up to which the files are complete, by owner
	rebuild rebuildState
}

// rebuildState is the time of the last rebuild, and whether a rebuild is in progress.
type rebuildState struct {
	At       time.Time `json:"at,omitzero"`
	UnderWay bool      `json:"under_way,omitempty"`
}

// row is a row of the table records. A nil value deletes the row.
type row struct {
	kind, name string
	value      any
}

// The kinds of rows, with names and values.
const (
	fileRow    = "file"    // name: a path, value: a record
	ownerRow   = "owner"   // name: an owner, value: the version up to which the files are complete
	rebuildRow = "rebuild" // name: "", value: a rebuildState
)

// openRecords reads the records. It replaces a damaged database by an empty database: all files are
// then compared with the wrapped store.
func openIndex(file string) (*index, error) {
	x, err := loadIndex(file)
	var damaged *sqlite.Error
	if !errors.As(err, &damaged) || damaged.Code() != sqlite3.SQLITE_NOTADB && damaged.Code() != sqlite3.SQLITE_CORRUPT {
		return x, err
	}
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(file + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return loadIndex(file)
}

func loadIndex(file string) (*index, error) {
	at := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file)}
	db, err := sql.Open("sqlite", at.String()+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=secure_delete(on)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	x := &index{db: db, paths: map[string]*record{}, targets: map[key]*record{}, written: map[memory.Owner]int64{}}
	if err := x.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read the records of the files: %w", err), db.Close())
	}
	return x, nil
}

func (x *index) load() error {
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
			x.put(r)
		case ownerRow:
			x.written[memory.Owner(name)], err = strconv.ParseInt(string(value), 10, 64)
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
func (x *index) save(rows ...row) error {
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
func (x *index) note(records ...*record) error {
	if err := x.write(records...); err != nil {
		return err
	}
	for _, r := range records {
		if x.drop(r.Path); r.Target != "" {
			x.put(r)
		}
	}
	return nil
}

// markDirty records that a file must be written. Until it is, a missing file is not a deletion.
func (x *index) noteDue(r *record) error {
	if r == nil {
		return nil
	}
	due := *r
	due.Due, due.There = true, false
	return x.note(&due)
}

// saveRecords saves records with their texts, and then drops the texts from memory.
func (x *index) write(records ...*record) error {
	rows := make([]row, len(records))
	for i, r := range records {
		if rows[i] = (row{kind: fileRow, name: r.Path}); r.Target != "" {
			rows[i].value = r
		}
	}
	return x.save(rows...)
}

// maxTexts limits the number of earlier texts that are stored for each file.
const maxTexts = 16

// saveText saves the last written text of a file.
func saveText(tx *sql.Tx, r *record) error {
	_, err := tx.Exec(`INSERT OR REPLACE INTO texts (owner, target, sha, text) VALUES (?, ?, ?, ?)`, r.Owner, r.Target, r.SHA, r.text)
	if err == nil {
		_, err = tx.Exec(`DELETE FROM texts WHERE owner = ?1 AND target = ?2 AND id NOT IN
			(SELECT id FROM texts WHERE owner = ?1 AND target = ?2 ORDER BY id DESC LIMIT ?3)`, r.Owner, r.Target, maxTexts+1)
	}
	return err
}

// writtenTexts returns the texts that Loci wrote for a target, latest first. last is the text of its
// record; after a crash, it may not be the newest text.
func (x *index) texts(k key) (last string, past []string, err error) {
	r := x.targets[k]
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
		if r.own(sha) {
			last = text
		} else {
			past = append(past, text)
		}
	}
	return last, past, rows.Err()
}

// isEarlierText reports whether a text equals one of earlier, ignoring line ends, which git changes.
func wrote(text, last string, past []string) bool {
	for _, one := range []string{text, strings.ReplaceAll(text, "\r\n", "\n")} {
		if one == last || slices.Contains(past, one) {
			return one != last
		}
	}
	return false
}

// deleteTextsIf deletes the texts of a target if an erasure is in progress.
func (x *index) forgetIf(erasing bool, k key) error {
	if !erasing {
		return nil
	}
	_, err := x.db.Exec(`DELETE FROM texts WHERE owner = ? AND target = ?`, k.owner, k.target)
	return err
}

// saveVersions saves the versions up to which the files are complete.
func (x *index) mark(versions map[memory.Owner]int64) error {
	var rows []row
	for owner, version := range versions {
		if x.written[owner] != version {
			x.written[owner] = version
			rows = append(rows, row{ownerRow, string(owner), version})
		}
	}
	return x.save(rows...)
}

// beginRebuild removes the records of some owners, so that their files count as added files.
func (x *index) beginRebuild(of func(memory.Owner) bool) error {
	x.rebuild.UnderWay = true
	rows := []row{{rebuildRow, "", x.rebuild}}
	for _, r := range slices.Collect(maps.Values(x.paths)) {
		if of(r.Owner) {
			x.drop(r.Path)
			rows = append(rows, row{kind: fileRow, name: r.Path})
		}
	}
	for owner := range x.written {
		if of(owner) {
			delete(x.written, owner)
			rows = append(rows, row{kind: ownerRow, name: string(owner)})
		}
	}
	return x.save(rows...)
}

// endRebuild saves the records of the rebuilt files. The next scan compares the files' content.
func (x *index) endRebuild(from []*record) error {
	x.rebuild.UnderWay = false
	return errors.Join(x.note(from...), x.save(row{rebuildRow, "", x.rebuild}))
}

func (x *index) put(r *record) {
	if old := x.targets[key{r.Owner, r.Target}]; old != nil && old.Path != r.Path && x.paths[old.Path] == old {
		delete(x.paths, old.Path)
	}
	if old := x.paths[r.Path]; old != nil && x.targets[key{old.Owner, old.Target}] == old {
		delete(x.targets, key{old.Owner, old.Target})
	}
	x.paths[r.Path], x.targets[key{r.Owner, r.Target}] = r, r
}

func (x *index) drop(path string) {
	if r := x.paths[path]; r != nil {
		delete(x.paths, path)
		if k := (key{r.Owner, r.Target}); x.targets[k] == r {
			delete(x.targets, k)
		}
	}
}

// compact moves the write-ahead log into the database file, without deleted content.
func (x *index) compact() error {
	_, err := x.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
