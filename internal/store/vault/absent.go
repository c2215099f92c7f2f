package vault

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Settle is how long a file must be gone, while somebody watches, until it counts as deleted:
// editors and sync tools replace a file by deleting and writing it, and folders on a network
// go and come. It is longer than such a pause, and short enough to be seen happening.
const Settle = 2 * time.Second

// Deleting is held back from more than a fifth of the files on, if it is more than
// a few: a mount that vanished, or a folder that somebody moved away, looks so.
const (
	heldShare = 5
	heldFew   = 2
)

// gone are the records whose files a person took away, by path.
func (s *scan) gone() map[string]*record {
	gone := map[string]*record{}
	for name, r := range s.f.index.paths {
		blind := slices.ContainsFunc(s.blind, func(dir string) bool { return strings.HasPrefix(name, dir) || dir == "./" })
		if !s.seen[name] && !blind && !r.Due && !s.thereAfterAll(name) {
			gone[name] = r
		}
	}
	return gone
}

// thereAfterAll reports whether a file is there which the walk did not meet: it came back
// meanwhile. Whether one is there that cannot be told; nothing is deleted by that.
func (s *scan) thereAfterAll(name string) bool {
	info, err := s.f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return false
	case err != nil:
		return true
	case info.IsDir():
		return false
	}
	// On a disk that folds case it may be the same file under a name that was changed.
	return !slices.ContainsFunc(s.changed, func(c found) bool { return c.path != name && strings.EqualFold(c.path, name) })
}

// tooMany reports whether so much is deleted at once, or in such a way, that nobody
// may have meant it.
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

// sift holds back deletions that are too many, and those that have not settled.
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
	if s.returns(missed, deleted) {
		missed = nil
	}
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

// returns reports whether a file is there again that was missed: the folder is coming back,
// and the others have their time anew.
func (s *scan) returns(missed map[string]time.Time, deleted []Edit) bool {
	still := map[string]bool{}
	for _, e := range deleted {
		still[e.Path] = true
	}
	for name := range missed {
		if !still[name] {
			return true
		}
	}
	return false
}

// Gone looks once more for the files of deleted edits, before what they were of is forgotten.
// It returns the edits whose files are nowhere still: neither at their path nor, by their id,
// in any other place. The rest is answered by that.
func (s *Store) Gone(ctx context.Context, deleted []Edit) ([]Edit, error) {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	sc := &scan{f: f, seen: map[string]bool{}}
	if err := sc.walk(ctx); err != nil {
		return nil, err
	}
	for _, name := range sc.cloud {
		sc.seen[name] = true
	}
	gone := sc.gone()
	sc.tellStrays(gone)
	there := map[string]bool{} // ids that other files say
	for _, c := range sc.changed {
		there[c.id] = true
	}
	var still []Edit
	for _, e := range deleted {
		_, id, _ := strings.Cut(e.Target, ":")
		if gone[e.Path] != nil && !there[id] {
			still = append(still, e)
			continue
		}
		f.answered(e)
	}
	f.release()
	return still, nil
}

// folds notes a folder of another case than Loci's, such as Users, on a disk that finds it
// under Loci's name as well, and returns the path by which Loci knows what the walk meets.
func (s *scan) folds(name string, d fs.DirEntry) string {
	if at, ok := s.folded[name]; ok {
		return at
	}
	at := name
	if folder, ok := s.folded[path.Dir(name)]; ok {
		at = path.Join(folder, d.Name())
	}
	lower := path.Join(path.Dir(at), strings.ToLower(d.Name()))
	if d.IsDir() && lower != at && s.f.sameFolder(at, lower) {
		at = lower
	}
	if d.IsDir() && at != name {
		s.folded[name] = at
	}
	return at
}
