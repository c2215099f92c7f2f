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
const maxFile = 1 << 20

// maxSyncs is the number of files that are synced at once: disks combine simultaneous syncs.
const syncers = 8

// writeBatch writes the files of keys in their current state, and returns the keys whose files
// failed; the caller has locked f.disk.
func (f *files) write(ctx context.Context, batch []key) (failed []key, err error) {
	byOwner := map[memory.Owner][]key{}
	for _, k := range batch {
		byOwner[k.owner] = append(byOwner[k.owner], k)
	}
	var plans []*plan
	for owner, keys := range byOwner {
		ps, err := f.plan(ctx, owner, keys)
		if err != nil {
			return batch, err
		}
		plans = append(plans, ps...)
	}
	f.prepare(plans)
	if err := f.noteDue(plans); err != nil {
		return batch, fmt.Errorf("record which files are due: %w", err)
	}
	return f.commit(plans)
}

// plan is a file to write or remove.
type plan struct {
	key
	old    *record // record of the last write; nil if the file was never written
	next   *record // record to save; nil to remove the file
	text   string
	temp   string // path of the temporary file
	there  bool   // whether the file has the new content already
	erased bool   // whether all content at the plan's paths must be removed
	base   string // text that is overwritten
	fault  error  // why the file cannot be written
}

// planOwner plans the files of an owner.
func (f *files) plan(ctx context.Context, owner memory.Owner, keys []key) ([]*plan, error) {
	l := f.loader(owner)
	if slices.Contains(keys, key{owner, ""}) {
		if err := f.catchUp(ctx, owner); err != nil {
			return nil, fmt.Errorf("update the files of %s: %w", owner, err)
		}
		keys = slices.DeleteFunc(keys, func(k key) bool { return k.target == "" })
	}
	keys, err := l.load(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read the memories in the files of %s: %w", owner, err)
	}
	var plans []*plan
	for _, k := range keys {
		p, err := f.planOne(ctx, k, l)
		switch {
		case errors.Is(err, errWaits):
			f.mark(true, k)
		case err != nil:
			return nil, err
		case p != nil:
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// markChanged marks an owner's targets as dirty if they changed since the files were last complete.
func (f *files) catchUp(ctx context.Context, owner memory.Owner) error {
	versions, err := f.s.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return err
	}
	targets, err := f.s.changedSince(ctx, owner, f.index.written[owner])
	if err != nil {
		return err
	}
	f.follow(owner, versions[0])
	for _, t := range targets {
		f.due(key{owner, t})
	}
	return nil
}

// errMustWait reports that a file waits for a scan, or for the answer to an edit.
var errWaits = errors.New("it waits for a scan")

// planFile plans one file; nil means that there is nothing to do now.
func (f *files) planOne(ctx context.Context, k key, l *loader) (*plan, error) {
	old := f.index.targets[k]
	t, there := l.things[k.target]
	if !t.erased() && f.waits(k, t) {
		return nil, cmp.Or(f.index.forgetIf(f.s.erasing(), k), errWaits)
	}
	if !there {
		return f.planMissing(ctx, k, old, l)
	}
	at := f.pathOf(k, t, old)
	p := &plan{key: k, old: old, erased: t.erased()}
	p.next = &record{Path: at, Owner: k.owner, Target: k.target, Version: t.version(), Open: t.open(), Related: t.relations() != nil}
	if p.erased { // replace the whole file, including a person's additions
		if err := l.removeBeside(ctx, k, from(old), at); err != nil {
			return nil, err
		}
	} else {
		var err error
		if p.base, err = f.base(k, old, at, t, l); err != nil {
			return nil, err
		}
	}
	fields := l.fieldsOver(p.base, t, old != nil && old.Related)
	pg, ok := split(p.base).with(fields, t.words())
	if !ok { // make a file with unreadable front matter a conflict file
		if err := f.aside(cmp.Or(from(old), at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		pg, _ = split("").with(fields, t.words())
	}
	p.text = pg.String()
	p.next.SHA, p.next.Size = hashOf(p.text), int64(len(p.text))
	if p.erased || p.text == p.base {
		return f.unless(p), nil
	}
	return p, nil
}

// fieldsFor returns the fields of t for a file with this text. related tells whether Loci writes the
// file's relations; turns and relations from another machine stay.
func (l *loader) fieldsOver(text string, t thing, related bool) []field {
	over := split(text)
	for _, link := range linksIn.Regexp().FindAllString(over.front, -1) {
		if id := idOfLink(link); l.called[id] == "" {
			l.called[id] = path.Base(nameInLink(link))
		}
	}
	fields := t.fields(l.link)
	if t.Fact != nil && learnedElsewhere(valueIn(text, sourceKey), string(t.Fact.Source)) && sameWords(over.words(), t.words()) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == sourceKey })
		fields[i].value = string(memory.Extracted)
	}
	return slices.DeleteFunc(fields, func(f field) bool {
		return f.value == "" && !related && slices.Contains(relationKinds, memory.RelationKind(f.key))
	})
}

// planMissing plans the file of content that the wrapped store lacks: the file of an erased profile
// entry is removed, other files stay without a record.
func (f *files) planMissing(ctx context.Context, k key, old *record, l *loader) (*plan, error) {
	switch {
	case old == nil:
		return nil, f.index.forgetIf(f.s.erasing(), k)
	case strings.HasPrefix(k.target, profileTarget) && f.s.erasing():
		return &plan{key: k, old: old, erased: true}, l.removeBeside(ctx, k, old.Path)
	}
	return nil, f.index.note(&record{Path: old.Path})
}

// planUnlessDone returns the plan, or nil if the file and its record have the content already.
func (f *files) unless(p *plan) *plan {
	text, err := f.read(p.next.Path)
	if err != nil || text != p.text {
		return p
	}
	info, err := f.root.Lstat(p.next.Path)
	if err != nil {
		return p
	}
	p.there, p.next.Mtime = true, info.ModTime().UnixNano()
	if p.old != nil && *p.old == *p.next && !f.s.erasing() {
		return nil
	}
	return p
}

// pathOf returns the path of a content's file. A name that a person gave to the file stays until the
// text is erased.
func (f *files) pathOf(k key, t thing, was *record) string {
	folder, name := f.s.place(k.owner, t)
	at := path.Join(folder, name+".md")
	if was == nil || t.Summary != nil || t.erased() {
		return at
	}
	named := path.Join(folder, path.Base(was.Path))
	if r := f.index.paths[named]; r != nil && r != was {
		return at
	}
	return named
}

// saveEdit makes a file that a person changed after Loci read it a conflict file.
func (f *files) keep(p *plan, at string) error {
	text, err := f.read(at)
	if p.erased || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && (text == p.base || text == p.text || f.index.paths[at].own(hashOf(text))) {
		return nil
	}
	return f.aside(at)
}

func from(r *record) string {
	if r == nil {
		return ""
	}
	return r.Path
}

// overwritable returns the text to overwrite; a person's keys and comments in it stay. If a person
// changed the file after Loci last read it, the file is renamed to a conflict file. Before the
// first scan, and for a deleted file, the write waits for a scan instead.
func (f *files) base(k key, old *record, at string, t thing, l *loader) (string, error) {
	text, there, err := f.under(k, at, t, l)
	if err == nil && old != nil && old.Path != at && !old.isName() {
		if before, was, failed := f.under(k, old.Path, t, l); was || failed != nil {
			text, there, err = before, was, failed
		}
	}
	if err == nil && !there && old.deletable() && t.Conversation == nil {
		return "", errWaits // a person deleted the file
	}
	return text, err
}

// textAt returns the text at a path, and whether it is a version of content t. A file with a
// person's text is renamed to a conflict file.
func (f *files) under(k key, at string, t thing, l *loader) (text string, there bool, err error) {
	text, err = f.read(at)
	own, r := f.index.targets[k], f.index.paths[at]
	switch sha := hashOf(text); {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", true, f.aside(at)
	case own.own(sha), own != nil && own.Due && l.isPast(k, text):
		return text, true, nil
	case r.own(sha): // the file of another memory, whose plan moves the file
		return "", false, nil
	case f.saysTheSame(k, at, text, t, l):
		return text, true, nil
	case !f.scanned:
		return "", true, errWaits
	}
	return text, true, f.aside(at)
}

// wroteEarlier reports whether Loci wrote a text for a key earlier.
func (l *loader) isPast(k key, text string) bool {
	last, past, err := l.f.index.texts(k)
	return err == nil && wrote(text, last, past)
}

// addsNothing reports whether a file has no content that the wrapped store lacks.
func (f *files) saysTheSame(k key, at, text string, t thing, l *loader) bool {
	p, ok := f.s.placeOf(at)
	if !ok {
		return false
	}
	p.owner, p.was = k.owner, f.before(k)
	read, err := l.readFile(p, text, t, f.index.targets[k])
	return err == nil && read.clash == "" && read.says.target() == k.target && !adds(read.says, t)
}

// sameText reports whether texts are equal, ignoring the form of line ends and outer empty lines.
func sameWords(a, b string) bool { return a == b || plainWords(a) == plainWords(b) }

// normalText returns text with LF line ends, without empty lines at the start and the end.
func plainWords(s string) string { return strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n") }

// makeConflictFile renames a file to a conflict file.
func (f *files) aside(at string) error {
	if err := f.index.noteDue(f.index.paths[at]); err != nil {
		return err
	}
	stamp := f.s.opts.Now().UTC().Format("2006-01-02T15-04-05")
	for n := 1; ; n++ {
		name := strings.TrimSuffix(at, ".md") + conflictMark + stamp
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		name += ".md"
		if _, err := f.root.Lstat(name); err != nil {
			f.s.opts.Log.Warn("a file was edited while its memory changed: both are kept", "file", LogPath(at), "edited", LogPath(name))
			return wrapPath(at, f.root.Rename(at, name))
		}
	}
}

// Errors about files that Loci does not read.
var (
	errNotFile = errors.New("it is not a regular file")
	errTooLong = fmt.Errorf("it has more than %d bytes", maxFile)
)

// read returns a file's text. It does not follow links. A path through a file counts as missing.
func (f *files) read(at string) (string, error) {
	info, err := f.root.Lstat(at)
	if errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotFile
	}
	file, err := f.root.Open(at)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxFile {
		return "", errTooLong
	}
	return string(text), nil
}

// recordDirty records that files are dirty, so that after a crash the next start writes them.
func (f *files) noteDue(plans []*plan) error {
	var due []*record
	for _, p := range plans {
		if p.next == nil || p.fault != nil {
			continue
		}
		r := *p.next
		if p.old != nil && p.old.Path != r.Path {
			r = *p.old
		}
		r.Due, r.There = true, false
		due = append(due, &r)
	}
	return f.index.write(due...)
}

// commitBatch renames the temporary files and saves the records. It returns the keys that failed.
func (f *files) commit(plans []*plan) (failed []key, err error) {
	var done []*record
	f.s.opts.failpoint(beforeFiles)
	folders, erasing := map[string]bool{}, f.s.erasing()
	var errs []error
	for _, p := range plans {
		err := p.fault
		if err == nil {
			err = f.place(p, folders)
		}
		if err != nil {
			errs, failed = append(errs, err), append(failed, p.key)
			continue
		}
		f.s.opts.failpoint(betweenFiles)
		if p.old != nil && (p.next == nil || p.next.Path != p.old.Path) {
			done = append(done, &record{Path: p.old.Path})
		}
		errs = append(errs, f.index.forgetIf(erasing, p.key))
		if p.next != nil {
			p.next.text = p.text
			done = append(done, p.next)
		}
	}
	for folder := range folders {
		if err := disk.SyncFolder(f.full(folder)); !errors.Is(err, fs.ErrNotExist) { // a person removed the folder
			errs = append(errs, err)
		}
	}
	f.s.opts.failpoint(afterFiles)
	if err := errors.Join(append(errs, f.index.write(done...))...); err != nil {
		return failed, err
	}
	return nil, nil
}

func tempName(n int) string { return fmt.Sprintf(".%d.tmp", n) }

var tempNames = lazy.Compile(`^\.\d+\.tmp$`)

// isTemp reports whether a name has the form of Loci's temporary names.
func isTemp(name string) bool { return tempNames.MatchString(name) }

func (f *files) prepare(plans []*plan) {
	var group errgroup.Group
	group.SetLimit(syncers)
	for n, p := range plans {
		if p.next == nil || p.there {
			continue
		}
		folder := path.Dir(p.next.Path)
		if p.fault = f.makeFolder(folder); p.fault != nil {
			continue
		}
		p.temp = path.Join(folder, tempName(n))
		group.Go(func() error {
			p.fault = wrapPath(p.next.Path, f.writeTemp(p))
			return nil
		})
	}
	_ = group.Wait() // each plan has its own error
}

// makeFolder creates a folder and syncs its parents.
func (f *files) makeFolder(folder string) error {
	if _, err := f.root.Stat(folder); err == nil {
		return nil
	}
	if err := f.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for up := path.Dir(folder); ; up = path.Dir(up) {
		if err := disk.SyncFolder(f.full(up)); err != nil || up == "." {
			return err
		}
	}
}

func (f *files) writeTemp(p *plan) error {
	file, err := f.root.OpenFile(p.temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(p.text)
	err = errors.Join(err, file.Sync())
	if info, statErr := file.Stat(); statErr == nil {
		p.next.Mtime = info.ModTime().UnixNano() // a rename keeps the time
	}
	return errors.Join(err, file.Close())
}

// replaceFile renames a temporary file to its final name and removes the old file.
func (f *files) place(p *plan, folders map[string]bool) error {
	if p.next != nil && !p.there {
		if err := f.keep(p, p.next.Path); err != nil {
			return err
		}
		if err := f.root.Rename(p.temp, p.next.Path); err != nil {
			return wrapPath(p.next.Path, err)
		}
		folders[path.Dir(p.next.Path)] = true
		f.s.opts.failpoint(betweenFiles)
	}
	if p.old != nil && (p.next == nil || p.next.Path != p.old.Path) {
		if !p.old.isName() {
			if err := f.remove(p); err != nil {
				return wrapPath(p.old.Path, err)
			}
			folders[path.Dir(p.old.Path)] = true
		}
		if f.index.paths[p.old.Path] == p.old {
			f.index.drop(p.old.Path)
		}
	}
	if p.next != nil {
		f.index.put(p.next)
	}
	return nil
}

// removeOld removes a memory's old file, unless another memory's file has its path now.
func (f *files) remove(p *plan) error {
	if r := f.index.paths[p.old.Path]; r != nil && r != p.old {
		return nil
	}
	if err := f.keep(p, p.old.Path); err != nil {
		return err
	}
	err := f.root.Remove(p.old.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
