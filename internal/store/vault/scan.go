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
	Edits                []Edit    // deletions first, then in order of path
	Problems             []Problem // files with errors, which Loci does not change
	ConflictFiles        []string  // paths of conflict files, which contain a person's text
	UnconfirmedDeletions []Edit    // deletions that a person must confirm, since there are many
	FileCount            int       // number of compared files

	untilDeleted time.Duration // time until the first missing file counts as deleted; 0 if no file is missing
}

// Problem is an error of a file or folder.
type Problem struct {
	Path   string
	Reason string
	Advice string // what the person should do; "" means to correct the file
}

// ScanOptions are options of a scan. The zero value means the defaults.
type ScanOptions struct {
	ConfirmDeletions bool // apply all deletions at once, even many or recent ones

	// DeletionDelay is the time for which a file must be missing until it counts as deleted; 0 means
	// that a missing file counts as deleted at once.
	DeletionDelay time.Duration
}

// Scan compares the folder with the files that Loci last wrote. It changes only the records of files
// without new content.
func (s *Store) Scan(ctx context.Context, o ScanOptions) (Report, error) {
	f := s.files
	f.disk.Lock()
	first := !f.scanned
	f.disk.Unlock()
	if first { // first write the files that a crash left unwritten, which are not edits
		if err := s.Flush(ctx); ctx.Err() != nil {
			return Report{}, err
		}
	}
	f.disk.Lock()
	defer f.disk.Unlock()
	f.scanned = true
	sc := &scan{f: f, opts: o, existingPaths: map[string]bool{}, loaders: map[memory.Owner]*loader{}}
	if err := sc.walkFolder(ctx); err != nil {
		return Report{}, err
	}
	if err := sc.findEdits(ctx); err != nil {
		return Report{}, err
	}
	slices.SortStableFunc(sc.report.Problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return sc.report, nil
}

// scan is a comparison of the folder with the records.
type scan struct {
	f                 *fileWriter
	opts              ScanOptions
	report            Report
	existingPaths     map[string]bool // paths of records whose file exists or may exist
	unknownChats      []string        // files of turns and summaries in unknown chats
	unreadableFolders []string        // folders that could not be read
	changedFiles      []changedFile
	loaders           map[memory.Owner]*loader
	unchangedRecords  []*record // updated records of files without new content
}

// changedFile is a file that differs from the text that Loci last wrote.
type changedFile struct {
	path       string
	parsedPath parsedPath
	text       string
	sha        string
	fileInfo   fs.FileInfo
	lastWrite  *record // record of Loci's last write to the path; nil for none
	id         string  // id in the file's front matter
}

// key returns the key of the memory that Loci last wrote to the path, or else of the memory with the
// id in the file. The target is "" if the file has no id.
func (c changedFile) key() key {
	switch {
	case c.lastWrite != nil:
		return key{c.lastWrite.Owner, c.lastWrite.Target}
	case c.id == "":
		return key{c.parsedPath.owner, ""}
	}
	return key{c.parsedPath.owner, c.parsedPath.targetPrefix() + c.id}
}

func (s *scan) addError(name string, reason any) {
	s.addProblem(Problem{Path: name, Reason: fmt.Sprint(reason)})
}

func (s *scan) addProblem(p Problem) {
	s.report.Problems = append(s.report.Problems, p)
	s.existingPaths[p.Path] = true
}

func (s *scan) walkFolder(ctx context.Context) error {
	return fs.WalkDir(s.f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && errors.Is(err, fs.ErrNotExist):
			return nil // the folder was removed meanwhile
		case err != nil:
			s.addError(name, err)
			s.unreadableFolders = append(s.unreadableFolders, name+"/")
			return fs.SkipDir
		case name == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			if isTemp(d.Name()) { // left by a crash: while f.disk is locked, no file is being written
				return s.f.root.Remove(name)
			}
			return nil
		case d.IsDir():
			if s.f.records.byPath[name] != nil {
				s.addError(name, errNotFile)
			}
			return nil
		}
		if _, ok := s.f.s.parsePath(name); !ok {
			if d.Type()&fs.ModeSymlink != 0 { // Loci does not follow links, and does not treat files behind them as deleted
				s.unreadableFolders = append(s.unreadableFolders, name+"/")
			}
			return nil
		}
		s.checkFile(name, d)
		return nil
	})
}

func (s *scan) checkFile(name string, d fs.DirEntry) {
	if strings.Contains(path.Base(name), conflictMark) {
		s.report.ConflictFiles = append(s.report.ConflictFiles, name)
		return
	}
	s.report.FileCount++
	info, err := d.Info()
	if err != nil {
		return // the file was removed meanwhile
	}
	old := s.f.records.byPath[name]
	if old != nil && info.Size() == old.Size && info.ModTime().UnixNano() == old.Mtime && info.Mode().IsRegular() {
		s.existingPaths[name] = true
		return
	}
	text, err := s.f.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		s.addError(name, err)
		return
	case strings.TrimSpace(text) == "":
		s.addError(name, "the file is empty; it may be half written")
		return
	}
	sha := hashOf(text)
	s.existingPaths[name] = true
	if old.hasHash(sha) {
		old.Size, old.Mtime = info.Size(), info.ModTime().UnixNano()
		return
	}
	p, _ := s.f.s.parsePath(name)
	s.changedFiles = append(s.changedFiles, changedFile{name, p, text, sha, info, old, frontValue(text, "id")})
}

// findEdits turns changed and missing files into edits.
func (s *scan) findEdits(ctx context.Context) error {
	missing := s.missingRecords()
	if err := s.loadContents(ctx, missing); err != nil {
		return err
	}
	for _, c := range s.changedFiles {
		s.compareFile(c, missing)
	}
	s.reportUnknownChats()
	if err := s.f.records.update(s.unchangedRecords...); err != nil {
		return err
	}
	var deleted []Edit
	movedIDs := s.idsInChangedFiles()
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		r := missing[name]
		t := s.loaders[r.Owner].contents[r.Target]
		if movedIDs[r.id()] || t == (fileContent{}) || t.Conversation != nil {
			continue // the file was moved, or there is no memory to forget
		}
		deleted = append(deleted, Edit{Kind: Deleted, Owner: r.Owner, Target: r.Target, Path: r.Path, SHA: r.SHA, Stored: t.FileContent})
	}
	s.report.Edits = append(s.applicableDeletions(deleted), s.report.Edits...)
	clear(s.f.pendingEdits)
	for _, e := range s.report.Edits {
		s.f.pendingEdits[pendingKey(e)] = e
	}
	s.f.releaseWaiting()
	return nil
}

// loadContents reads the stored contents of the changed and missing files.
func (s *scan) loadContents(ctx context.Context, missing map[string]*record) error {
	keys := map[memory.Owner][]key{}
	for _, c := range s.changedFiles {
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
	for _, r := range missing {
		keys[r.Owner] = append(keys[r.Owner], key{r.Owner, r.Target})
	}
	for owner, all := range keys {
		l := s.f.newLoader(owner)
		s.loaders[owner] = l
		for batch := range slices.Chunk(all, maxBatch) {
			if _, err := l.load(ctx, batch); err != nil {
				return fmt.Errorf("read the memories in the files of %s: %w", owner, err)
			}
		}
	}
	return nil
}

// storedContent returns the key and the stored content of a file's memory; for a new file, the key
// has only the target's prefix. If path and id contradict each other, it reports a problem.
func (s *scan) storedContent(c changedFile) (k key, stored fileContent, ok bool) {
	k = c.key()
	switch {
	case c.parsedPath.owner == "" && c.lastWrite == nil:
		s.addError(c.path, "the name of this folder does not identify its owner")
		return k, fileContent{}, false
	case c.lastWrite != nil && c.id != "" && c.id != c.lastWrite.id():
		s.addError(c.path, fmt.Sprintf("its id was %q and is %q now: save a copy as a new file, without the id", c.lastWrite.id(), c.id))
		return k, fileContent{}, false
	case k.target == "":
		return key{c.parsedPath.owner, c.parsedPath.targetPrefix()}, fileContent{}, true
	}
	return k, s.loaders[k.owner].contents[k.target], true
}
