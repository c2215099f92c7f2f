package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// wordless reports whether a file has front matter but no words yet, where Loci has words: editors
// and sync tools write the front matter first.
func (s *scan) wordless(ctx context.Context, c found, gone map[string]*record) (bool, error) {
	pg := split(c.text)
	if c.p.folder == "" || !pg.has || strings.TrimSpace(pg.words()) != "" { // a chat may have no rules
		return false, nil
	}
	k := c.key()
	if k.owner != "" && k.target != "" {
		t, err := s.known(ctx, k)
		if err != nil || t != (thing{}) && strings.TrimSpace(t.words()) == "" { // what was erased, an answer that only calls tools
			return false, err
		}
	}
	if r := s.f.index.targets[k]; r != nil {
		delete(gone, r.Path)
	} else {
		delete(gone, s.fileThatStrayed(c.path, gone))
	}
	s.tell(Problem{c.path, "it has no words below its front matter; it may be half written", "write them; or, to forget what it said, delete the file"})
	return true, nil
}

// elsewhere are the names of placeholders that sync tools leave for files that are only in the
// cloud: a prefix and a suffix.
var elsewhere = []struct{ before, behind string }{{".", ".icloud"}, {"", ".nextcloud"}, {"", ".owncloud"}}

// inCloud reports whether a placeholder is there instead of a file.
func (f *files) inCloud(at string) bool {
	if _, err := f.root.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	folder, base := path.Split(at)
	return slices.ContainsFunc(elsewhere, func(e struct{ before, behind string }) bool {
		_, err := f.root.Lstat(folder + e.before + base + e.behind)
		return err == nil
	})
}

// inCloud returns the path that a placeholder is for, if that is one of Loci's.
func (s *scan) inCloud(name string) (at string, ok bool) {
	folder, base := path.Split(name)
	for _, e := range elsewhere {
		rest, before := strings.CutPrefix(base, e.before)
		rest, behind := strings.CutSuffix(rest, e.behind)
		if !before || !behind {
			continue
		}
		if _, ok := s.f.s.placeOf(folder + rest); !ok {
			continue
		}
		_, err := s.f.root.Lstat(folder + rest)
		return folder + rest, errors.Is(err, fs.ErrNotExist)
	}
	return "", false
}

// tellCloud reports the files that are only in the cloud, in one line. Until they are back they
// are neither deleted nor written.
func (s *scan) tellCloud() {
	for _, name := range s.cloud {
		s.seen[name] = true
		if s.f.index.paths[name] == nil { // it may be a memory's whose own file is gone
			s.unread = append(s.unread, name)
		}
	}
	if len(s.cloud) == 0 {
		return
	}
	s.tell(Problem{s.cloud[0], inTheCloud(len(s.cloud)), "let the sync tool keep the vault's folder on this disk; until then memory stays as it is"})
}

func inTheCloud(n int) string {
	if n == 1 {
		return "it is in the cloud and not on this disk"
	}
	return fmt.Sprintf("it is in the cloud and not on this disk, with %d more", n-1)
}
