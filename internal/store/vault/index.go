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
	"path"
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
	State   string       `json:"state,omitempty"`   // hash of all that Loci has to say in it
	Imprint string       `json:"imprint,omitempty"` // what it says, as imprint writes it
	Past    []string     `json:"past,omitempty"`    // of what texts stood there earlier, as pastOf has it
	Lay     string       `json:"lay,omitempty"`     // the path before, if a person had given the file another name
	Version int64        `json:"version,omitempty"` // 0 from when an edit was accepted until it is written
	Size    int64        `json:"size"`
	Mtime   int64        `json:"mtime,omitempty"` // nanoseconds since 1970

	// Lost are links of a fact's file that lead nowhere, and those whom it names and is not
	// shared with, with what they say, as lostLink writes them. They stay, and are looked
	// at again with each scan.
	Lost []string `json:"lost,omitempty"`

	// Refused says of some that are lost why they were refused.
	Refused map[string]string `json:"refused,omitempty"`

	// Aside: a person's file was moved from the path, and Loci's is not there yet. That
	// nothing is there is no deletion.
	Aside bool `json:"aside,omitempty"`

	// Unsure: it was noted, and then there was a crash, so that the file may not have
	// been written, and may still be what has an earlier hash.
	Unsure  bool     `json:"unsure,omitempty"`
	Earlier []string `json:"earlier,omitempty"`
}

// own reports whether Loci wrote what has this hash.
func (r *record) own(sha string) bool { return r.SHA == sha || slices.Contains(r.Earlier, sha) }

// of reports whether it was written, or accepted, of this version of a memory.
func (r *record) of(version int64) bool { return r != nil && (r.Version == 0 || r.Version == version) }

// before is where a memory's file lay before it is written to a path, if it was called otherwise there.
func (r *record) before(at string) string {
	switch {
	case r == nil:
		return ""
	case r.Path == at:
		return r.Lay
	case path.Base(r.Path) != path.Base(at):
		return r.Path
	}
	return ""
}

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

// key names a thing in the vault.
type key struct {
	owner  memory.Owner
	target string
}

// head is where an owner stands in the journal.
type head struct {
	Version int64     `json:"version"`
	At      time.Time `json:"at"`

	// Tail is one more than the byte at which the first run begins that was written since
	// the version rose, 0 for none: by the version alone nobody sees that a store lacks it.
	Tail int64 `json:"tail,omitempty"`
}

// next is where an owner stands after a line.
func (h head) next(version int64, at time.Time, commits, raises bool, begin int64) head {
	h.Version = max(h.Version, version)
	if commits && at.After(h.At) {
		h.At = at
	}
	switch {
	case raises:
		h.Tail = 0
	case commits && h.Tail == 0:
		h.Tail = begin + 1
	}
	return h
}

// index is the snapshot of the files: what Loci last wrote, and up to where in the
// journal. Between two snapshots a log says what is about to be written.
type index struct {
	Journal int64                 `json:"journal"` // everything before this byte is in the files
	Heads   map[memory.Owner]head `json:"heads"`
	Files   []*record             `json:"files"`

	paths   map[string]*record
	targets map[key]*record
	log     *os.File
	logged  int       // lines of the log
	leaving []*record // of files that were about to be taken away when there was a crash
}

// openIndex reads the snapshot and its log. One that cannot be read is as none:
// the journal and the files are read instead.
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
	if x.Heads == nil {
		x.Heads = map[memory.Owner]head{}
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
			return x, nil // the half of a line is of a file that was not touched
		}
		var r record
		if json.Unmarshal(bytes.TrimSpace(text), &r) != nil {
			continue
		}
		x.logged++
		if old := x.paths[r.Path]; old != nil {
			r.Earlier = append(old.Earlier, old.SHA)
			if r.Target == "" {
				x.leaving = append(x.leaving, old)
			}
		}
		if r.Target == "" {
			x.drop(r.Path)
			continue
		}
		r.Unsure = true
		x.put(&r)
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

// note writes records to the log, so that they are there before the files change.
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
	return x.log.Sync()
}

// save writes the snapshot anew and empties the log.
func (x *index) save(snapshot string) error {
	out := *x
	for _, r := range x.paths {
		if !r.Unsure {
			r.Earlier = nil
		}
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
