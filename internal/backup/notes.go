package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
)

// BackupListFile is the name of the list of backups in the data folder, for receipts of erasures.
const NotesFile = archive.Notes

// backupList is the file that lists the backups of a memory, and the folders that restores set aside.
type notes struct {
	path string // path of the file; empty records nothing

	mu sync.Mutex // held while the file is read or written
}

// listEntry is an entry about one backup or set-aside folder.
type note struct {
	Path  string    `json:"path"`            // destination of the backup; empty if unknown
	Began time.Time `json:"began"`           // start of the backup; zero for a set-aside folder
	At    time.Time `json:"at"`              // later writes are not in the backup; zero while the backup is in progress
	Aside bool      `json:"aside,omitempty"` // the entry is a folder that a restore set aside

	Restored time.Time `json:"restored,omitzero"` // time of a restore from the backup; zero once the audit log has the restore
}

// listContent is the content of the file.
type noteList struct {
	Backups []note `json:"backups"`
}

func notesOf(c config.Config) (*notes, error) {
	if c.Store.Server() {
		return &notes{}, nil
	}
	dir, err := c.DataDir()
	return &notes{path: filepath.Join(dir, NotesFile)}, err
}

// Read returns the recorded backups. An invalid file is an error, because otherwise a receipt would
// omit backups, and a new file would lose them.
func (n *notes) Read() (out noteList, err error) {
	if n.path == "" {
		return out, nil
	}
	text, err := os.ReadFile(n.path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return noteList{}, fmt.Errorf("read the list of backups: %s: %w", n.path, err)
	}
	return out, nil
}

func (n *notes) change(to func([]note) []note) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, err := n.Read()
	if err != nil || n.path == "" {
		return err
	}
	is.Backups = to(is.Backups)
	return is.writeTo(n.path)
}

// writeTo writes the complete file or, after an error, nothing.
func (n noteList) writeTo(path string) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.Replace(path, append(text, '\n')); err != nil {
		return fmt.Errorf("write the list of backups: %w", err)
	}
	return nil
}

// reconcile removes entries of backups that were in progress when the process ended, because no client
// received them. It records a restore since the last start in the audit log; after an error the next
// start tries again.
func (n *notes) start(record func(at time.Time, what string) error) error {
	is, err := n.Read()
	if err != nil || !slices.ContainsFunc(is.Backups, func(one note) bool { return one.At.IsZero() || !one.Restored.IsZero() }) {
		return err
	}
	return n.change(func(all []note) []note {
		for i, one := range all {
			if !one.Restored.IsZero() && record(one.Restored, one.words()) == nil {
				all[i].Restored = time.Time{}
			}
		}
		return slices.DeleteFunc(all, func(one note) bool { return one.At.IsZero() })
	})
}

// addStarted records a backup before anything is copied, so that every receipt contains the backup.
func (n *notes) begin(path string, began time.Time) error {
	return n.change(func(all []note) []note { return append(all, note{Path: path, Began: began.UTC()}) })
}

// setTime records the time of the backup's content.
func (n *notes) done(began, at time.Time) error {
	return n.change(func(all []note) []note {
		for i := range all {
			if all[i].Began.Equal(began) {
				all[i].At = at
			}
		}
		return all
	})
}

// remove removes the entry of a failed backup.
func (n *notes) drop(began time.Time) error {
	return n.change(func(all []note) []note {
		return slices.DeleteFunc(all, func(one note) bool { return one.Began.Equal(began) && one.At.IsZero() })
	})
}

// prune removes entries of scheduled backups that no longer exist at a destination.
func (n *notes) prune(at place, names []string) error {
	return n.change(func(all []note) []note {
		return slices.DeleteFunc(all, func(one note) bool {
			name := filepath.Base(one.Path)
			return scheduledName.MatchString(name) && one.Path == at.path(name) && !slices.Contains(names, name)
		})
	})
}

// describeBetween describes the copies that may contain text that existed between two times.
func (n *notes) between(since, until time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, err := n.Read()
	var out []string
	if err != nil {
		out = append(out, "the backups in the unreadable list "+n.path)
	}
	for _, one := range is.Backups {
		if !one.At.IsZero() && one.At.Before(since) || one.Began.After(until) {
			continue
		}
		out = append(out, one.words())
	}
	return out
}

func (n note) words() string {
	const form = "2006-01-02 15:04:05 MST"
	what := "the backup started at " + n.Began.UTC().Format(form)
	if n.Aside {
		what = "the data set aside by a restore at " + n.At.UTC().Format(form)
	}
	if n.Path == "" {
		return what
	}
	what += ", " + n.Path
	if _, err := os.Lstat(n.Path); filepath.IsAbs(n.Path) && errors.Is(err, fs.ErrNotExist) {
		what += " (the server's machine does not have this file)" // the client that requested the backup may run on another machine
	}
	return what
}

// UnerasableCopies lists the places that Loci cannot erase, and that may still contain text that existed
// between two times.
func (b *Maker) MayHold(since, until time.Time) []string {
	c := b.config
	out := append(b.Notes.between(since, until), "messages and answers in other users' chats", "earlier exports and copies of the data folder")
	if c.Store.Server() {
		out[len(out)-1] = "earlier backups and exports"
	}
	if c.Store.Mongo() {
		out = append(out, "the MongoDB server's own backups, operations log and journal")
	}
	if c.Store.Postgres() {
		out = append(out, "the PostgreSQL server's own backups, write-ahead log and dead rows before a vacuum")
	}
	if dir, err := c.VaultDir(); err == nil && dir != "" {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			out = append(out, "commits in the vault's git repository")
		}
	}
	return out
}
