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
const DeletionDelay = 2 * time.Second

// Deletions need a person's confirmation if more than two files and more than a fifth of all files
// are missing, since the disk may not be mounted or a folder may have been moved.
const (
	missingDivisor = 5
	fewMissing     = 2
)

// missingRecords returns the records of missing files, by path.
func (s *scan) missingRecords() map[string]*record {
	missing := map[string]*record{}
	for name, r := range s.f.records.byPath {
		blind := slices.ContainsFunc(s.unreadableFolders, func(dir string) bool { return strings.HasPrefix(name, dir) || dir == "./" })
		if !s.existingPaths[name] && !blind && r.countsAsDeleted() && !s.f.exists(name) {
			missing[name] = r
		}
	}
	return missing
}

// idsInChangedFiles returns the ids in changed files. Their memories do not count as deleted, even if the
// file has errors.
func (s *scan) idsInChangedFiles() map[string]bool {
	ids := map[string]bool{}
	for _, c := range s.changedFiles {
		ids[c.id] = true
	}
	return ids
}

// exists reports whether a file exists. After an error it returns true, so that no memory is deleted.
func (f *fileWriter) exists(name string) bool {
	info, err := f.root.Lstat(name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return !info.IsDir()
}

// tooManyMissing reports whether so many files, or a whole folder entries/, are missing that the disk
// may not be mounted.
func (s *scan) tooManyMissing(deletions []Edit) bool {
	if len(deletions) > fewMissing && len(deletions)*missingDivisor > len(s.f.records.byPath) {
		return true
	}
	return slices.ContainsFunc(deletions, func(e Edit) bool {
		folder, _, _ := strings.Cut(e.Path, "entries/")
		_, err := s.f.root.Lstat(path.Join(folder, "entries"))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// applicableDeletions returns the deletions to apply now: none if there are too many, otherwise those of files
// that have been missing for longer than ScanOptions.DeletionDelay.
func (s *scan) applicableDeletions(deletions []Edit) []Edit {
	missed := s.f.missingSince
	s.f.missingSince = map[string]time.Time{}
	switch {
	case s.opts.ConfirmDeletions:
		return deletions
	case s.tooManyMissing(deletions):
		s.report.UnconfirmedDeletions = deletions
		return nil
	case s.opts.DeletionDelay == 0:
		return deletions
	}
	now := time.Now()
	var settled []Edit
	for _, e := range deletions {
		since, ok := missed[e.Path]
		if !ok {
			since = now
		}
		s.f.missingSince[e.Path] = since
		wait := s.opts.DeletionDelay - now.Sub(since)
		if wait <= 0 {
			settled = append(settled, e)
		} else if s.report.untilDeleted == 0 || wait < s.report.untilDeleted {
			s.report.untilDeleted = wait
		}
	}
	return settled
}

// StillMissing returns the deletions whose files are still missing.
func (s *Store) StillMissing(deletions []Edit) []Edit {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	defer f.releaseWaiting()
	return slices.DeleteFunc(deletions, func(e Edit) bool {
		back := f.exists(e.Path)
		if back {
			f.removePending(e)
		}
		return back
	})
}
