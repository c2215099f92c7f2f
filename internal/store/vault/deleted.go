package vault

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// DeletionDelay is the time for which a watched file must be missing until it counts as deleted:
// editors and sync tools replace a file by deleting it and writing a new file.
const Settle = 2 * time.Second

// Deletions need a person's confirmation if more than two files and more than a fifth of all files
// are missing, since the disk may not be mounted or a folder may have been moved.
const (
	heldShare = 5
	heldFew   = 2
)

// missingRecords returns the records of missing files, by path.
func (s *scan) gone() map[string]*record {
	gone := map[string]*record{}
	for name, r := range s.f.index.paths {
		blind := slices.ContainsFunc(s.blind, func(dir string) bool { return strings.HasPrefix(name, dir) || dir == "./" })
		if !s.seen[name] && !blind && r.deletable() && !s.f.there(name) {
			gone[name] = r
		}
	}
	return gone
}

// changedIDs returns the ids in changed files. Their memories do not count as deleted, even if the
// file has errors.
func (s *scan) named() map[string]bool {
	ids := map[string]bool{}
	for _, c := range s.changed {
		ids[c.id] = true
	}
	return ids
}

// exists reports whether a file exists. After an error it returns true, so that no memory is
// deleted.
func (f *files) there(name string) bool {
	info, err := f.root.Lstat(name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return !info.IsDir()
}

// tooManyMissing reports whether so many files are missing that the disk itself may be missing.
func (s *scan) tooMany(deleted []Edit) bool {
	if len(deleted) > heldFew && len(deleted)*heldShare > len(s.f.index.paths) {
		return true
	}
	return slices.ContainsFunc(deleted, func(e Edit) bool {
		folder, _, _ := strings.Cut(e.Path, "entries/")
		_, err := s.f.root.Lstat(path.Join(folder, "entries"))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// applicableDeletions returns the deletions to apply now, without those that are too many or too
// recent.
func (s *scan) sift(deleted []Edit) []Edit {
	missed := s.f.missed
	s.f.missed = map[string]time.Time{}
	switch {
	case s.o.Confirm:
		return deleted
	case s.tooMany(deleted):
		s.report.Held = deleted
		return nil
	case s.o.Settle == 0:
		return deleted
	}
	now := time.Now()
	var settled []Edit
	for _, e := range deleted {
		since, ok := missed[e.Path]
		if !ok {
			since = now
		}
		s.f.missed[e.Path] = since
		wait := s.o.Settle - now.Sub(since)
		if wait <= 0 {
			settled = append(settled, e)
		} else if s.report.settles == 0 || wait < s.report.settles {
			s.report.settles = wait
		}
	}
	return settled
}

// StillMissing returns the deletions whose files are still missing.
func (s *Store) Gone(deleted []Edit) []Edit {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	defer f.release()
	return slices.DeleteFunc(deleted, func(e Edit) bool {
		back := f.there(e.Path)
		if back {
			f.answered(e)
		}
		return back
	})
}
