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

// BackupListFile is the name of the file in the data folder that lists backups, for receipts of erasures.
const BackupListFile = archive.BackupListFile

// backupList is the file that lists the backups of a memory, and the folders that restores set aside.
type backupList struct {
	path string // path of the file; empty for a database server, whose backups Loci does not make

	mu sync.Mutex // held while the file is read or written
}

// listEntry is an entry about one backup or set-aside folder.
type listEntry struct {
	Path      string    `json:"path"`            // destination of the backup; empty if unknown
	StartedAt time.Time `json:"began"`           // start of the backup; zero for a set-aside folder
	ContentAt time.Time `json:"at"`              // time after which writes are not in the copy; zero while the backup is in progress
	IsAside   bool      `json:"aside,omitempty"` // the entry is a folder that a restore set aside

	RestoredAt time.Time `json:"restored,omitzero"` // time of a restore from the backup; zero once the audit log has the restore
}

// listContent is the content of BackupListFile.
type listContent struct {
	Backups []listEntry `json:"backups"`
}

func openList(c config.Config) (*backupList, error) {
	if c.Store.IsServer() {
		return &backupList{}, nil
	}
	dir, err := c.DataDir()
	return &backupList{path: filepath.Join(dir, BackupListFile)}, err
}

// Read returns the recorded backups. An invalid file is an error, because otherwise a receipt would
// omit backups, and a new file would lose them.
func (n *backupList) Read() (out listContent, err error) {
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
		return listContent{}, fmt.Errorf("read the list of backups: %s: %w", n.path, err)
	}
	return out, nil
}

func (n *backupList) update(edit func([]listEntry) []listEntry) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, err := n.Read()
	if err != nil || n.path == "" {
		return err
	}
	is.Backups = edit(is.Backups)
	return is.writeTo(n.path)
}

// writeTo writes the complete file or, after an error, nothing.
func (n listContent) writeTo(path string) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.ReplaceFile(path, append(text, '\n')); err != nil {
		return fmt.Errorf("write the list of backups: %w", err)
	}
	return nil
}

// reconcile removes entries of backups that were in progress when the process ended, because no client
// received these backups. If a backup was restored since the last start, reconcile calls recordRestore; if
// recordRestore fails, the next start calls it again.
func (n *backupList) reconcile(recordRestore func(at time.Time, description string) error) error {
	content, err := n.Read()
	if err != nil || !slices.ContainsFunc(content.Backups, func(entry listEntry) bool { return entry.ContentAt.IsZero() || !entry.RestoredAt.IsZero() }) {
		return err
	}
	return n.update(func(entries []listEntry) []listEntry {
		for i, entry := range entries {
			if !entry.RestoredAt.IsZero() && recordRestore(entry.RestoredAt, entry.describe()) == nil {
				entries[i].RestoredAt = time.Time{}
			}
		}
		return slices.DeleteFunc(entries, func(entry listEntry) bool { return entry.ContentAt.IsZero() })
	})
}

// addStarted records a backup before anything is copied, so that every receipt contains the backup.
func (n *backupList) addStarted(path string, startedAt time.Time) error {
	return n.update(func(entries []listEntry) []listEntry {
		return append(entries, listEntry{Path: path, StartedAt: startedAt.UTC()})
	})
}

// setContentTime records the time of a backup's content; startedAt identifies the backup.
func (n *backupList) setContentTime(startedAt, contentAt time.Time) error {
	return n.update(func(entries []listEntry) []listEntry {
		for i := range entries {
			if entries[i].StartedAt.Equal(startedAt) {
				entries[i].ContentAt = contentAt
			}
		}
		return entries
	})
}

// removeFailed removes the entry of a failed backup.
func (n *backupList) removeFailed(startedAt time.Time) error {
	return n.update(func(entries []listEntry) []listEntry {
		return slices.DeleteFunc(entries, func(entry listEntry) bool { return entry.StartedAt.Equal(startedAt) && entry.ContentAt.IsZero() })
	})
}

// prune removes entries of scheduled backups that no longer exist at dest; names lists the existing backups.
func (n *backupList) prune(dest destination, names []string) error {
	return n.update(func(entries []listEntry) []listEntry {
		return slices.DeleteFunc(entries, func(entry listEntry) bool {
			name := filepath.Base(entry.Path)
			return scheduledNamePattern.MatchString(name) && entry.Path == dest.displayPath(name) && !slices.Contains(names, name)
		})
	})
}

// describeBetween describes the copies that may contain text that existed between two times.
func (n *backupList) describeBetween(since, until time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, err := n.Read()
	var out []string
	if err != nil {
		out = append(out, "the backups in the unreadable list "+n.path)
	}
	for _, entry := range is.Backups {
		if !entry.ContentAt.IsZero() && entry.ContentAt.Before(since) || entry.StartedAt.After(until) {
			continue
		}
		out = append(out, entry.describe())
	}
	return out
}

func (n listEntry) describe() string {
	const form = "2006-01-02 15:04:05 MST"
	text := "the backup started at " + n.StartedAt.UTC().Format(form)
	if n.IsAside {
		text = "the data set aside by a restore at " + n.ContentAt.UTC().Format(form)
	}
	if n.Path == "" {
		return text
	}
	text += ", " + n.Path
	if _, err := os.Lstat(n.Path); filepath.IsAbs(n.Path) && errors.Is(err, fs.ErrNotExist) {
		text += " (the server's machine does not have this file)" // the client that requested the backup may run on another machine
	}
	return text
}

// UnerasableCopies lists the places that Loci cannot erase, and that may still contain text that existed
// between two times.
func (b *Maker) UnerasableCopies(since, until time.Time) []string {
	c := b.config
	out := append(b.List.describeBetween(since, until), "messages and answers in other users' chats", "earlier exports and copies of the data folder")
	if c.Store.IsServer() {
		out[len(out)-1] = "earlier backups and exports"
	}
	if c.Store.IsMongo() {
		out = append(out, "the MongoDB server's own backups, operations log and journal")
	}
	if c.Store.IsPostgres() {
		out = append(out, "the PostgreSQL server's own backups, write-ahead log and dead rows before a vacuum")
	}
	if dir, err := c.VaultDir(); err == nil && dir != "" {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			out = append(out, "commits in the vault's git repository")
		}
	}
	return out
}
