package vault

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

const (
	indexFile = "memory_index.json"
	indexLog  = "memory_index.log"
)

// record is what Loci last wrote to a file.
type record struct {
	Path    string       `json:"path"` // from the vault's top, with slashes
	Owner   memory.Owner `json:"owner,omitempty"`
	Target  string       `json:"id,omitempty"` // as [memory.Image.Target] writes it; "" in the log: the file was taken away
	SHA     string       `json:"sha256,omitempty"`
	Past    []string     `json:"past,omitempty"`    // of what texts were there earlier, as pastOf has it
	Version int64        `json:"version,omitempty"` // of the memory that it shows
	Size    int64        `json:"size"`
	Mtime   int64        `json:"mtime,omitempty"` // nanoseconds since 1970

	// Ties are a fact's keys for relations and sharing as they were written: its version says
	// nothing of them.
	Ties map[string]string `json:"ties,omitempty"`

	// Lost are links in a fact's file that lead nowhere, and owners whom it names and is not
	// shared with, as lostLink writes them. They stay, and each scan looks at them again.
	Lost []string `json:"lost,omitempty"`

	// Refused says of some that are lost why they were refused.
	Refused map[string]string `json:"refused,omitempty"`

	// Due: the file is to be written again. A missing file is no deletion, unless a scan found it There.
	Due   bool `json:"due,omitempty"`
	There bool `json:"there,omitempty"`

	// Open: it is a turn that was not learned from yet. No version tells when it is.
	Open bool `json:"open,omitempty"`
}

// id is the memory's, without its kind.
func (r *record) id() string {
	_, id, _ := strings.Cut(r.Target, ":")
	return id
}

// own reports whether Loci wrote what has this hash.
func (r *record) own(sha string) bool { return r != nil && r.SHA == sha }

// deletable reports whether a file that is missing was deleted.
func (r *record) deletable() bool { return r != nil && (!r.Due || r.There) }

// none reports whether nothing is known of what was written.
func (r *record) none() bool { return r == nil || r.SHA == "" }

// of reports whether it was written of this version of a memory.
func (r *record) of(version int64) bool { return r != nil && r.Version == version }

// refusedOf are those that were refused among what is still lost.
func (r *record) refusedOf(lost []string) map[string]string {
	if r == nil || len(r.Refused) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, one := range lost {
		if why := r.Refused[one]; why != "" {
			out[one] = why
		}
	}
	return out
}

// maxPast is how many texts of a file's past a record knows.
const maxPast = 16

// pastOf are the short hashes of what Loci wrote of a memory before a text with this hash,
// oldest first.
func (r *record) pastOf(sha string) []string {
	if r == nil {
		return nil
	}
	if r.SHA == "" || r.SHA == sha {
		return r.Past
	}
	now := inPast(r.SHA)
	past := append(slices.DeleteFunc(slices.Clone(r.Past), func(one string) bool { return one == now }), now)
	return past[max(0, len(past)-maxPast):]
}

// inPast is how a record keeps the hash of a text that was written over.
func inPast(sha string) string { return sha[:min(len(sha), 16)] }

// wrote reports whether a text is one that Loci wrote over since, whatever its line ends: git
// may change them.
func (r *record) wrote(text string) bool {
	for _, one := range []string{text, strings.ReplaceAll(text, "\r\n", "\n")} {
		switch sha := hashOf(one); {
		case r == nil || r.own(sha):
			return false
		case slices.Contains(r.Past, inPast(sha)):
			return true
		}
	}
	return false
}

// key names a thing in the vault.
type key struct {
	owner  memory.Owner
	target string
}

// index is a snapshot of the records and of how far files were written. Between two
// snapshots a log has the records that changed.
type index struct {
	Written map[memory.Owner]int64 `json:"written"` // versions that the files have whole
	Rebuilt time.Time              `json:"rebuilt,omitzero"`

	// Rebuilding: the store within is being rebuilt from the files, or was when there was a crash.
	Rebuilding bool `json:"rebuilding,omitempty"`

	Files []*record `json:"files"`

	paths   map[string]*record
	targets map[key]*record
	log     *os.File
	logged  int // lines of the log
}

// openIndex reads the snapshot and its log. One that cannot be read counts as none: then
// everything is compared with the store within.
func openIndex(snapshot, log string) (*index, error) {
	x := &index{}
	data, err := os.ReadFile(snapshot)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := json.Unmarshal(data, x); err != nil {
		x = &index{}
	}
	files := x.Files
	x.Files, x.paths, x.targets = nil, map[string]*record{}, map[key]*record{}
	if x.Written == nil {
		x.Written = map[memory.Owner]int64{}
	}
	for _, r := range files {
		x.put(r)
	}
	if x.log, err = os.OpenFile(log, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(x.log)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return x, nil // half a line is of a file that is compared again
		}
		var r record
		switch {
		case json.Unmarshal(bytes.TrimSpace(text), &r) != nil:
		case r.Target == "":
			x.drop(r.Path)
		default:
			x.put(&r)
		}
		x.logged++
	}
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

// note writes records to the log; one without a target was dropped.
func (x *index) note(records ...*record) error {
	var b bytes.Buffer
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		b.Write(append(text, '\n'))
	}
	if _, err := x.log.Write(b.Bytes()); err != nil {
		return err
	}
	x.logged += len(records)
	return nil
}

// save writes the snapshot anew and empties the log.
func (x *index) save(snapshot string) error {
	out := *x
	for _, r := range x.paths {
		out.Files = append(out.Files, r)
	}
	slices.SortFunc(out.Files, func(a, b *record) int { return strings.Compare(a.Path, b.Path) })
	text, err := json.Marshal(&out)
	if err != nil {
		return err
	}
	if err := disk.Replace(snapshot, text); err != nil {
		return err
	}
	x.logged = 0
	return x.log.Truncate(0)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
