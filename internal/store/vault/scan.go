package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Report lists the differences between the folder and the files that Loci last wrote.
type Report struct {
	Edits     []Edit    // deletions first, then in order of path
	Problems  []Problem // files with errors, which Loci does not change
	Conflicts []string  // paths of conflict files, which contain a person's text
	Held      []Edit    // deletions that a person must confirm, since there are many
	Files     int       // number of compared files

	settles time.Duration // time until the first missing file counts as deleted; 0 if no file is missing
}

// Problem is an error of a file or folder.
type Problem struct {
	Path string
	Why  string
	Do   string // advice; "" means that a person must correct the file
}

// ScanOptions are options of a scan. The zero value means the defaults.
type ScanOptions struct {
	Confirm bool // apply deletions even if there are many or they are recent

	// DeletionDelay is the time for which scans must miss a file until it counts as deleted; 0 means
	// at once.
	Settle time.Duration
}

// Scan compares the folder with the files that Loci last wrote. It changes only the records of files
// without new content.
func (s *Store) Scan(ctx context.Context, o ScanOptions) (Report, error) {
	f := s.files
	f.disk.Lock()
	first := !f.scanned
	f.disk.Unlock()
	if first { // files that a crash prevented from being written are not edits
		if err := s.Settle(ctx); ctx.Err() != nil {
			return Report{}, err
		}
	}
	f.disk.Lock()
	defer f.disk.Unlock()
	f.scanned = true
	sc := &scan{f: f, o: o, seen: map[string]bool{}, loaders: map[memory.Owner]*loader{}}
	if err := sc.walk(ctx); err != nil {
		return Report{}, err
	}
	if err := sc.compare(ctx); err != nil {
		return Report{}, err
	}
	slices.SortStableFunc(sc.report.Problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return sc.report, nil
}

// scan is a comparison of the folder with the records.
type scan struct {
	f       *files
	o       ScanOptions
	report  Report
	seen    map[string]bool // paths of records whose file exists or may exist
	unheard []string        // files of turns and summaries in unknown chats
	blind   []string        // folders that could not be read
	changed []found
	loaders map[memory.Owner]*loader
	adopted []*record // records to save of files without new content
}

// changedFile is a file that differs from the text that Loci last wrote.
type found struct {
	path string
	p    place
	text string
	sha  string
	info fs.FileInfo
	old  *record // record of Loci's last write to the path; nil for none
	id   string  // id in the file's front matter
}

// key returns the key of the memory last written to the path, or else of the memory with the id in
// the file. The target is "" if there is no id.
func (c found) key() key {
	switch {
	case c.old != nil:
		return key{c.old.Owner, c.old.Target}
	case c.id == "":
		return key{c.p.owner, ""}
	}
	return key{c.p.owner, c.p.kind() + c.id}
}

func (s *scan) problem(name string, why any) { s.tell(Problem{Path: name, Why: fmt.Sprint(why)}) }

func (s *scan) tell(p Problem) {
	s.report.Problems = append(s.report.Problems, p)
	s.seen[p.Path] = true
}

func (s *scan) walk(ctx context.Context) error {
	return fs.WalkDir(s.f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && errors.Is(err, fs.ErrNotExist):
			return nil // the folder was removed meanwhile
		case err != nil:
			s.problem(name, err)
			s.blind = append(s.blind, name+"/")
			return fs.SkipDir
		case name == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			if isTemp(d.Name()) { // remains of a crash, since f.disk is locked
				return s.f.root.Remove(name)
			}
			return nil
		case d.IsDir():
			if s.f.index.paths[name] != nil {
				s.problem(name, errNotFile)
			}
			return nil
		}
		if _, ok := s.f.s.placeOf(name); !ok {
			if d.Type()&fs.ModeSymlink != 0 { // Loci does not follow links, and does not treat files behind them as deleted
				s.blind = append(s.blind, name+"/")
			}
			return nil
		}
		s.look(name, d)
		return nil
	})
}

func (s *scan) look(name string, d fs.DirEntry) {
	if strings.Contains(path.Base(name), conflictMark) {
		s.report.Conflicts = append(s.report.Conflicts, name)
		return
	}
	s.report.Files++
	info, err := d.Info()
	if err != nil {
		return // the file was removed meanwhile
	}
	old := s.f.index.paths[name]
	if old != nil && info.Size() == old.Size && info.ModTime().UnixNano() == old.Mtime && info.Mode().IsRegular() {
		s.seen[name] = true
		return
	}
	text, err := s.f.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		s.problem(name, err)
		return
	case strings.TrimSpace(text) == "":
		s.problem(name, "the file is empty; it may be half written")
		return
	}
	sha := hashOf(text)
	s.seen[name] = true
	if old.own(sha) {
		old.Size, old.Mtime = info.Size(), info.ModTime().UnixNano()
		return
	}
	p, _ := s.f.s.placeOf(name)
	s.changed = append(s.changed, found{name, p, text, sha, info, old, valueIn(text, "id")})
}

// findEdits turns changed and missing files into edits.
func (s *scan) compare(ctx context.Context) error {
	gone := s.gone()
	if err := s.load(ctx, gone); err != nil {
		return err
	}
	for _, c := range s.changed {
		s.compareOne(c, gone)
	}
	s.tellUnheard()
	if err := s.f.index.note(s.adopted...); err != nil {
		return err
	}
	var deleted []Edit
	named := s.named()
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		r := gone[name]
		t := s.loaders[r.Owner].things[r.Target]
		if named[r.id()] || t == (thing{}) || t.Conversation != nil {
			continue // the file was moved, or there is no memory to forget
		}
		deleted = append(deleted, Edit{Kind: Deleted, Owner: r.Owner, Target: r.Target, Path: r.Path, SHA: r.SHA, Was: t.FileContent})
	}
	s.report.Edits = append(s.sift(deleted), s.report.Edits...)
	clear(s.f.open)
	for _, e := range s.report.Edits {
		s.f.open[openKey(e)] = e
	}
	s.f.release()
	return nil
}

// loadContents reads the stored contents of the changed and missing files.
func (s *scan) load(ctx context.Context, gone map[string]*record) error {
	keys := map[memory.Owner][]key{}
	for _, c := range s.changed {
		k := c.key()
		if k.owner == "" {
			continue
		}
		if keys[k.owner] == nil {
			keys[k.owner] = []key{} // the owner needs a loader even if it reads nothing
		}
		if k.target != "" {
			keys[k.owner] = append(keys[k.owner], k)
		}
	}
	for _, r := range gone {
		keys[r.Owner] = append(keys[r.Owner], key{r.Owner, r.Target})
	}
	for owner, all := range keys {
		l := s.f.loader(owner)
		s.loaders[owner] = l
		for batch := range slices.Chunk(all, maxBatch) {
			if _, err := l.load(ctx, batch); err != nil {
				return fmt.Errorf("read the memories in the files of %s: %w", owner, err)
			}
		}
	}
	return nil
}

// storedContent returns a file's memory and its stored content, both empty for a new file. If the
// path and the id contradict each other, it reports a problem, and ok is false.
func (s *scan) whose(c found) (k key, stored thing, ok bool) {
	k = c.key()
	switch {
	case c.p.owner == "" && c.old == nil:
		s.problem(c.path, "the name of this folder does not identify its owner")
		return k, thing{}, false
	case c.old != nil && c.id != "" && c.id != c.old.id():
		s.problem(c.path, fmt.Sprintf("its id was %q and is %q now: save a copy as a new file, without the id", c.old.id(), c.id))
		return k, thing{}, false
	case k.target == "":
		return key{c.p.owner, c.p.kind()}, thing{}, true
	}
	return k, s.loaders[k.owner].things[k.target], true
}
