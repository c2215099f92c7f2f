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

// NotesFile is in the data folder: which backups were made, for the receipts of erasures.
const NotesFile = archive.Notes

// notes are the backups that were made of a memory, and what restores set aside of it.
type notes struct {
	path string // "": nothing is noted

	mu sync.Mutex // held while the file is read and written
}

// note is one of them.
type note struct {
	Path  string    `json:"path"`            // where it was to be kept; "" if nobody said
	Began time.Time `json:"began"`           // zero: of what was set aside
	At    time.Time `json:"at"`              // what was written after is not in it; zero: it is being made
	Aside bool      `json:"aside,omitempty"` // a folder that a restore set aside

	Restored time.Time `json:"restored,omitzero"` // when memory was restored from it, until that is on record
}

// noted is the file.
type noted struct {
	Backups []note `json:"backups"`
}

func notesOf(c config.Config) (*notes, error) {
	if c.Store.Server() {
		return &notes{}, nil
	}
	dir, err := c.DataDir()
	return &notes{path: filepath.Join(dir, NotesFile)}, err
}

// Read returns what is noted. A file that cannot be understood is an error: a receipt that
// leaves a backup out would be wrong, and so would a file that forgets them.
func (n *notes) Read() (out noted, err error) {
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
		return noted{}, fmt.Errorf("read which backups were made: %s: %w", n.path, err)
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

// writeTo writes the file whole or not at all.
func (n noted) writeTo(path string) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.Replace(path, append(text, '\n')); err != nil {
		return fmt.Errorf("note which backups were made: %w", err)
	}
	return nil
}

// start forgets what was under way when the process ended: it was handed to nobody. A restore since
// the last start is put on record; one that cannot be is tried again at the next.
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

// begin notes a backup before anything is copied, so that no receipt misses it.
func (n *notes) begin(path string, began time.Time) error {
	return n.change(func(all []note) []note { return append(all, note{Path: path, Began: began.UTC()}) })
}

// done notes of which moment it is.
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

// drop forgets a backup that came to nothing.
func (n *notes) drop(began time.Time) error {
	return n.change(func(all []note) []note {
		return slices.DeleteFunc(all, func(one note) bool { return one.Began.Equal(began) && one.At.IsZero() })
	})
}

// prune forgets scheduled backups of a place that are not there.
func (n *notes) prune(at place, names []string) error {
	return n.change(func(all []note) []note {
		return slices.DeleteFunc(all, func(one note) bool {
			name := filepath.Base(one.Path)
			return scheduledName.MatchString(name) && one.Path == at.path(name) && !slices.Contains(names, name)
		})
	})
}

// between returns, in words, what may hold words that were there between two times.
func (n *notes) between(since, until time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, err := n.Read()
	var out []string
	if err != nil {
		out = append(out, "the backups that "+n.path+" lists, which cannot be read")
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
	what := "the backup that was begun at " + n.Began.UTC().Format(form)
	if n.Aside {
		what = "what a restore set aside at " + n.At.UTC().Format(form)
	}
	if n.Path == "" {
		return what
	}
	what += ", " + n.Path
	if _, err := os.Lstat(n.Path); filepath.IsAbs(n.Path) && errors.Is(err, fs.ErrNotExist) {
		what += " (the server's machine has no such file)" // whoever asked from another may have it
	}
	return what
}
