package backup

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/loci-memory/loci/internal/disk"
)

// destination is the place where scheduled backups are stored.
type destination interface {
	list(ctx context.Context) ([]string, error)                           // returns the names of scheduled backups, oldest first
	upload(ctx context.Context, name string, backup *tempBackup) error    // writes the complete backup or nothing
	fetch(ctx context.Context, name, dir string) (file string, err error) // returns the path of a local file; dir receives a copy of a remote backup
	remove(ctx context.Context, name string) error
	displayPath(name string) string // full path for people, without secrets
}

// nameLayout is the time layout of a scheduled backup's name: names sort by time. A destination may also
// have other files, which Loci does not change.
const nameLayout = "loci-2006-01-02T15-04-05Z.zip"

var scheduledNamePattern = regexp.MustCompile(`^loci-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.zip(\.age)?$`)

const s3Scheme = "s3://"

func openDestination(address string) (destination, error) {
	if strings.HasPrefix(address, s3Scheme) {
		return openBucket(address)
	}
	dir, err := filepath.Abs(address)
	return localFolder(dir), err
}

// localFolder is the path of a destination on this machine. Loci does not create the folder, because a missing
// folder may mean that a disk is not mounted.
type localFolder string

func (d localFolder) displayPath(name string) string { return filepath.Join(string(d), name) }

func (d localFolder) list(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		if scheduledNamePattern.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (d localFolder) upload(_ context.Context, name string, backup *tempBackup) error {
	partial := d.displayPath("loci-backup.half") // overwrites the file of an earlier crash
	out, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, backup)
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = os.Rename(partial, d.displayPath(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return disk.SyncFolder(string(d))
}

func (d localFolder) fetch(_ context.Context, name, _ string) (string, error) {
	return d.displayPath(name), nil
}

func (d localFolder) remove(_ context.Context, name string) error {
	return os.Remove(d.displayPath(name))
}
