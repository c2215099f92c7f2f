package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// maxFileBytes limits the size of files that are read. A longer file is written, but never read.
const maxFileBytes = 1 << 20

// maxSyncs is the number of files that are synced at once: disks combine simultaneous syncs.
const maxSyncs = 8

// writeBatch writes the current contents of the keys' files, and returns the keys whose files could
// not be written; the caller has locked f.disk.
func (f *fileWriter) writeBatch(ctx context.Context, batch []key) (failedKeys []key, err error) {
	byOwner := map[memory.Owner][]key{}
	for _, k := range batch {
		byOwner[k.owner] = append(byOwner[k.owner], k)
	}
	var plans []*filePlan
	for owner, keys := range byOwner {
		ps, err := f.planFilesOf(ctx, owner, keys)
		if err != nil {
			return batch, err
		}
		plans = append(plans, ps...)
	}
	f.writeTemps(plans)
	if err := f.recordDirty(plans); err != nil {
		return batch, fmt.Errorf("record which files must be written: %w", err)
	}
	return f.commitBatch(plans)
}

// filePlan is a file to write or remove.
type filePlan struct {
	key
	oldRecord    *record // record of the last write; nil if the file was never written
	newRecord    *record // record to save; nil to remove the file
	text         string
	tempPath     string // path of the temporary file
	upToDate     bool   // whether the file has the new content already
	isErasure    bool   // whether a person's additions to the file must be removed too
	previousText string // the file's previous text; "" for a new file or an erasure
	err          error  // why the file cannot be written
}

func (f *fileWriter) planFilesOf(ctx context.Context, owner memory.Owner, keys []key) ([]*filePlan, error) {
	l := f.newLoader(owner)
	if slices.Contains(keys, key{owner, ""}) {
		if err := f.markChanged(ctx, owner); err != nil {
			return nil, fmt.Errorf("update the files of %s: %w", owner, err)
		}
		keys = slices.DeleteFunc(keys, func(k key) bool { return k.target == "" })
	}
	keys, err := l.load(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read the memories in the files of %s: %w", owner, err)
	}
	var plans []*filePlan
	for _, k := range keys {
		p, err := f.planFile(ctx, k, l)
		switch {
		case errors.Is(err, errMustWait):
			f.setDirty(true, k)
		case err != nil:
			return nil, err
		case p != nil:
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// markChanged marks an owner's targets as dirty that changed since all files were written.
func (f *fileWriter) markChanged(ctx context.Context, owner memory.Owner) error {
	versions, err := f.s.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return err
	}
	targets, err := f.s.changedSince(ctx, owner, f.records.writtenVersions[owner])
	if err != nil {
		return err
	}
	f.setLatestVersion(owner, versions[0])
	for _, t := range targets {
		f.markDirty(key{owner, t})
	}
	return nil
}

// errMustWait reports that a file waits for a scan, or for the answer to an edit.
var errMustWait = errors.New("the file waits for a scan")

// planFile plans one file; nil means that there is nothing to do now.
func (f *fileWriter) planFile(ctx context.Context, k key, l *loader) (*filePlan, error) {
	old := f.records.byTarget[k]
	t, there := l.contents[k.target]
	if !t.isErased() && f.mustWait(k, t) {
		return nil, cmp.Or(f.records.deleteTextsIf(f.s.isErasing(), k), errMustWait)
	}
	if !there {
		return f.planMissing(ctx, k, old, l)
	}
	file := f.pathOf(k, t, old)
	p := &filePlan{key: k, oldRecord: old, isErasure: t.isErased()}
	p.newRecord = &record{Path: file, Owner: k.owner, Target: k.target, Version: t.version(), Unlearned: t.isUnlearned(), HasRelations: t.relations() != nil}
	if p.isErasure { // drop a person's additions, by leaving previousText empty
		if err := l.removeCopies(ctx, k, pathOrEmpty(old), file); err != nil {
			return nil, err
		}
	} else {
		var err error
		if p.previousText, err = f.previousText(k, old, file, t, l); err != nil {
			return nil, err
		}
	}
	fields := l.fieldsFor(p.previousText, t, old != nil && old.HasRelations)
	pg, ok := splitFile(p.previousText).withFields(fields, t.text())
	if !ok { // make a file with unreadable front matter a conflict file
		if err := f.makeConflictFile(cmp.Or(pathOrEmpty(old), file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		pg, _ = splitFile("").withFields(fields, t.text())
	}
	p.text = pg.String()
	p.newRecord.SHA, p.newRecord.Size = hashOf(p.text), int64(len(p.text))
	if p.isErasure || p.text == p.previousText {
		return f.planUnlessDone(p), nil
	}
	return p, nil
}

// fieldsFor returns the front matter for t, to be written into a file whose text is oldText. It omits keys of
// empty relations if Loci wrote no relations before, and keeps the source of a fact of another machine.
func (l *loader) fieldsFor(oldText string, t fileContent, hasRelations bool) []field {
	over := splitFile(oldText)
	for _, link := range linkPattern.Regexp().FindAllString(over.front, -1) {
		if id := idInLink(link); l.fileNames[id] == "" {
			l.fileNames[id] = path.Base(nameInLink(link))
		}
	}
	fields := t.fields(l.link)
	if t.Fact != nil && learnedOnOtherMachine(frontValue(oldText, sourceKey), string(t.Fact.Source)) && sameText(over.text(), t.text()) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == sourceKey })
		fields[i].value = string(memory.Extracted)
	}
	return slices.DeleteFunc(fields, func(f field) bool {
		return f.value == "" && !hasRelations && slices.Contains(relationKinds, memory.RelationKind(f.key))
	})
}

// planMissing plans the file of a memory that the wrapped store lacks: the file of an erased profile entry is
// removed; any other file stays, and its record is removed.
func (f *fileWriter) planMissing(ctx context.Context, k key, old *record, l *loader) (*filePlan, error) {
	switch {
	case old == nil:
		return nil, f.records.deleteTextsIf(f.s.isErasing(), k)
	case strings.HasPrefix(k.target, profileTarget) && f.s.isErasing():
		return &filePlan{key: k, oldRecord: old, isErasure: true}, l.removeCopies(ctx, k, old.Path)
	}
	return nil, f.records.update(&record{Path: old.Path})
}

// planUnlessDone returns the plan, or nil if the file and its record have the content already.
func (f *fileWriter) planUnlessDone(p *filePlan) *filePlan {
	text, err := f.read(p.newRecord.Path)
	if err != nil || text != p.text {
		return p
	}
	info, err := f.root.Lstat(p.newRecord.Path)
	if err != nil {
		return p
	}
	p.upToDate, p.newRecord.Mtime = true, info.ModTime().UnixNano()
	if p.oldRecord != nil && *p.oldRecord == *p.newRecord && !f.s.isErasing() {
		return nil
	}
	return p
}

// pathOf returns the path at which to write the file of t. A name that a person gave to the file stays
// until the text is erased.
func (f *fileWriter) pathOf(k key, t fileContent, old *record) string {
	folder, name := f.s.folderAndName(k.owner, t)
	at := path.Join(folder, name+".md")
	if old == nil || t.Summary != nil || t.isErased() {
		return at
	}
	named := path.Join(folder, path.Base(old.Path))
	if r := f.records.byPath[named]; r != nil && r != old {
		return at
	}
	return named
}

// keepPersonsEdit renames a file to a conflict file if a person changed the file after Loci read it.
func (f *fileWriter) keepPersonsEdit(p *filePlan, file string) error {
	text, err := f.read(file)
	if p.isErasure || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && (text == p.previousText || text == p.text || f.records.byPath[file].hasHash(hashOf(text))) {
		return nil
	}
	return f.makeConflictFile(file)
}

func pathOrEmpty(r *record) string {
	if r == nil {
		return ""
	}
	return r.Path
}

// previousText returns the text that the write replaces, from which a person's keys and comments are
// kept. If a person changed the file after Loci last read it, the file is renamed to a conflict file.
// Before the first scan, and for a file that a person deleted, the error is errMustWait instead.
func (f *fileWriter) previousText(k key, old *record, file string, t fileContent, l *loader) (string, error) {
	text, there, err := f.textAt(k, file, t, l)
	if err == nil && old != nil && old.Path != file && !old.isDeleted() {
		if before, was, failed := f.textAt(k, old.Path, t, l); was || failed != nil {
			text, there, err = before, was, failed
		}
	}
	if err == nil && !there && old.countsAsDeleted() && t.Conversation == nil {
		return "", errMustWait // a person deleted the file
	}
	return text, err
}

// textAt returns the text of a file, and whether the file is one of k's memory, with content t. If a
// person changed the text, the file is renamed to a conflict file.
func (f *fileWriter) textAt(k key, file string, t fileContent, l *loader) (text string, isOwnFile bool, err error) {
	text, err = f.read(file)
	own, r := f.records.byTarget[k], f.records.byPath[file]
	switch sha := hashOf(text); {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", true, f.makeConflictFile(file)
	case own.hasHash(sha), own != nil && own.Dirty && l.wroteEarlier(k, text):
		return text, true, nil
	case r.hasHash(sha): // the file of another memory, whose plan moves the file
		return "", false, nil
	case f.addsNothing(k, file, text, t, l):
		return text, true, nil
	case !f.scanned:
		return "", true, errMustWait
	}
	return text, true, f.makeConflictFile(file)
}

// wroteEarlier reports whether Loci wrote a text for a key earlier.
func (l *loader) wroteEarlier(k key, text string) bool {
	last, past, err := l.f.records.writtenTexts(k)
	return err == nil && isEarlierText(text, last, past)
}

// addsNothing reports whether the wrapped store already has the whole content of a file.
func (f *fileWriter) addsNothing(k key, file, text string, t fileContent, l *loader) bool {
	p, ok := f.s.parsePath(file)
	if !ok {
		return false
	}
	p.owner, p.lastFolder = k.owner, f.lastFolder(k)
	read, err := l.readFile(p, text, t, f.records.byTarget[k])
	return err == nil && read.conflict == "" && read.content.target() == k.target && !hasNewContent(read.content, t)
}

// sameText reports whether texts are equal, ignoring the form of line ends and outer empty lines.
func sameText(a, b string) bool { return a == b || normalText(a) == normalText(b) }

// normalText returns text with LF line ends, without empty lines at the start and the end.
func normalText(s string) string { return strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n") }

func (f *fileWriter) makeConflictFile(file string) error {
	if err := f.records.markDirty(f.records.byPath[file]); err != nil {
		return err
	}
	stamp := f.s.opts.Now().UTC().Format("2006-01-02T15-04-05")
	for n := 1; ; n++ {
		name := strings.TrimSuffix(file, ".md") + conflictMark + stamp
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		name += ".md"
		if _, err := f.root.Lstat(name); err != nil {
			f.s.opts.Log.Warn("a file was edited while its memory changed: both are kept", "file", LogPath(file), "edited", LogPath(name))
			return wrapPath(file, f.root.Rename(file, name))
		}
	}
}

// Errors about files that Loci does not read.
var (
	errNotFile = errors.New("the path is not a regular file")
	errTooLong = fmt.Errorf("the file has more than %d bytes", maxFileBytes)
)

// read returns a file's text. It does not follow links. If a parent folder in the path is a file, the
// path counts as missing.
func (f *fileWriter) read(name string) (string, error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotFile
	}
	file, err := f.root.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxFileBytes {
		return "", errTooLong
	}
	return string(text), nil
}

// recordDirty records that files are dirty, so that after a crash the next start writes them.
func (f *fileWriter) recordDirty(plans []*filePlan) error {
	var dirty []*record
	for _, p := range plans {
		if p.newRecord == nil || p.err != nil {
			continue
		}
		r := *p.newRecord
		if p.oldRecord != nil && p.oldRecord.Path != r.Path {
			r = *p.oldRecord
		}
		r.Dirty, r.Exists = true, false
		dirty = append(dirty, &r)
	}
	return f.records.saveRecords(dirty...)
}

// commitBatch renames the temporary files and saves the records. It returns the keys that failed.
func (f *fileWriter) commitBatch(plans []*filePlan) (failedKeys []key, err error) {
	var done []*record
	f.s.opts.failpoint(beforeFiles)
	folders, erasing := map[string]bool{}, f.s.isErasing()
	var errs []error
	for _, p := range plans {
		err := p.err
		if err == nil {
			err = f.replaceFile(p, folders)
		}
		if err != nil {
			errs, failedKeys = append(errs, err), append(failedKeys, p.key)
			continue
		}
		f.s.opts.failpoint(betweenFiles)
		if p.oldRecord != nil && (p.newRecord == nil || p.newRecord.Path != p.oldRecord.Path) {
			done = append(done, &record{Path: p.oldRecord.Path})
		}
		errs = append(errs, f.records.deleteTextsIf(erasing, p.key))
		if p.newRecord != nil {
			p.newRecord.text = p.text
			done = append(done, p.newRecord)
		}
	}
	for folder := range folders {
		if err := disk.SyncFolder(f.osPath(folder)); !errors.Is(err, fs.ErrNotExist) { // a person removed the folder
			errs = append(errs, err)
		}
	}
	f.s.opts.failpoint(afterFiles)
	if err := errors.Join(append(errs, f.records.saveRecords(done...))...); err != nil {
		return failedKeys, err
	}
	return nil, nil
}

func tempName(n int) string { return fmt.Sprintf(".%d.tmp", n) }

var tempPattern = lazy.Compile(`^\.\d+\.tmp$`)

func isTemp(name string) bool { return tempPattern.MatchString(name) }

func (f *fileWriter) writeTemps(plans []*filePlan) {
	var group errgroup.Group
	group.SetLimit(maxSyncs)
	for n, p := range plans {
		if p.newRecord == nil || p.upToDate {
			continue
		}
		folder := path.Dir(p.newRecord.Path)
		if p.err = f.makeFolder(folder); p.err != nil {
			continue
		}
		p.tempPath = path.Join(folder, tempName(n))
		group.Go(func() error {
			p.err = wrapPath(p.newRecord.Path, f.writeTemp(p))
			return nil
		})
	}
	_ = group.Wait() // each plan has its own error
}

// makeFolder creates a folder and syncs its parents.
func (f *fileWriter) makeFolder(folder string) error {
	if _, err := f.root.Stat(folder); err == nil {
		return nil
	}
	if err := f.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for up := path.Dir(folder); ; up = path.Dir(up) {
		if err := disk.SyncFolder(f.osPath(up)); err != nil || up == "." {
			return err
		}
	}
}

func (f *fileWriter) writeTemp(p *filePlan) error {
	file, err := f.root.OpenFile(p.tempPath, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(p.text)
	err = errors.Join(err, file.Sync())
	if info, statErr := file.Stat(); statErr == nil {
		p.newRecord.Mtime = info.ModTime().UnixNano() // a rename keeps the time
	}
	return errors.Join(err, file.Close())
}

// replaceFile renames a temporary file to its final name and removes the old file. It adds the
// changed folders to a set, for syncing.
func (f *fileWriter) replaceFile(p *filePlan, changedFolders map[string]bool) error {
	if p.newRecord != nil && !p.upToDate {
		if err := f.keepPersonsEdit(p, p.newRecord.Path); err != nil {
			return err
		}
		if err := f.root.Rename(p.tempPath, p.newRecord.Path); err != nil {
			return wrapPath(p.newRecord.Path, err)
		}
		changedFolders[path.Dir(p.newRecord.Path)] = true
		f.s.opts.failpoint(betweenFiles)
	}
	if p.oldRecord != nil && (p.newRecord == nil || p.newRecord.Path != p.oldRecord.Path) {
		if !p.oldRecord.isDeleted() {
			if err := f.removeOldFile(p); err != nil {
				return wrapPath(p.oldRecord.Path, err)
			}
			changedFolders[path.Dir(p.oldRecord.Path)] = true
		}
		if f.records.byPath[p.oldRecord.Path] == p.oldRecord {
			f.records.removeRecord(p.oldRecord.Path)
		}
	}
	if p.newRecord != nil {
		f.records.setRecord(p.newRecord)
	}
	return nil
}

// removeOldFile removes a memory's old file, unless another memory's file has its path now.
func (f *fileWriter) removeOldFile(p *filePlan) error {
	if r := f.records.byPath[p.oldRecord.Path]; r != nil && r != p.oldRecord {
		return nil
	}
	if err := f.keepPersonsEdit(p, p.oldRecord.Path); err != nil {
		return err
	}
	err := f.root.Remove(p.oldRecord.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
