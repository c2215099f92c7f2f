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

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/memory"
)

// maxFile bounds a file that is read. A memory that is longer is written and never
// read back.
const maxFile = 1 << 20

// syncers is how many files are synced at once: disks take several together.
const syncers = 8

// write writes the files of these things as they now stand, and returns those that
// it could not.
func (f *files) write(ctx context.Context, batch []item) (failed []item, err error) {
	f.disk.Lock()
	defer f.disk.Unlock()
	var plans []*plan
	for _, owner := range ownersOf(batch) {
		ps, err := f.plan(ctx, owner, batch)
		if err != nil {
			return batch, err
		}
		plans = append(plans, ps...)
	}
	if err := f.commit(plans); err != nil {
		return batch, err
	}
	if f.index.logged > max(minLog, len(f.index.paths)) {
		return nil, f.snapshot()
	}
	return nil, nil
}

func ownersOf(batch []item) []memory.Owner {
	var owners []memory.Owner
	for _, i := range batch {
		if !slices.Contains(owners, i.owner) {
			owners = append(owners, i.owner)
		}
	}
	return owners
}

// plan is a file to be written or taken away.
type plan struct {
	item
	old    *record // what was written before, nil for nothing
	next   *record // nil: the file goes
	text   string
	temp   string
	there  bool                   // the file says so already
	erased bool                   // whatever else its paths hold goes
	seen   map[string]fs.FileInfo // how its paths were when they were read
}

// plan decides on an owner's files.
func (f *files) plan(ctx context.Context, owner memory.Owner, batch []item) ([]*plan, error) {
	l := f.loader(owner)
	var items []item
	for _, i := range batch {
		if i.owner == owner {
			items = append(items, i)
		}
	}
	items, err := l.load(ctx, items)
	if err != nil {
		return nil, fmt.Errorf("read what the files of %s show: %w", owner, err)
	}
	var plans []*plan
	for _, i := range items {
		p, err := f.planOne(ctx, i, l)
		if err != nil {
			return nil, err
		}
		if p != nil {
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// planOne decides on one file; nil means that there is nothing to do now.
func (f *files) planOne(ctx context.Context, i item, l *loader) (*plan, error) {
	old := f.index.targets[i.key]
	t, there := l.things[i.target]
	if !t.erased() && f.waits(i.key, t) {
		f.parked = append(f.parked, i)
		return nil, nil
	}
	if !there {
		if old == nil {
			return nil, nil
		}
		p := &plan{item: i, old: old, seen: f.look(old.Path)}
		if strings.HasPrefix(i.target, profileTarget) { // its key was erased
			p.erased = true
			if err := errors.Join(l.removeBeside(i.target, old.Path), f.removeOpen(i.key, old.Path)); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
	folder, name := f.s.place(i.owner, t)
	at := path.Join(folder, name+".md")
	if old != nil && path.Dir(old.Path) == folder && t.summary == nil {
		at = old.Path // a person may have given it another name
	}
	if t.erased() {
		if err := l.removeBeside(i.target, from(old), at, old.before(at)); err != nil {
			return nil, err
		}
		if err := f.removeOpen(i.key, from(old), at); err != nil {
			return nil, err
		}
	}
	fields, words := t.fields(l.link), t.words()
	next := &record{Path: at, Owner: i.owner, Target: i.target, State: stateOf(at, fields, words), Version: t.version(), Imprint: imprintOf(t).String()}
	left := f.left[i.key]
	delete(f.left, i.key)
	if old != nil && old.State == next.State && f.written(old) {
		return nil, nil
	}
	if t.erased() { // nothing stays of the file, not even what a person added
		text := page{end: "\n"}.with(fields, words).String()
		next.SHA, next.Size = hashOf(text), int64(len(text))
		return &plan{item: i, old: old, next: next, text: text, erased: true}, nil
	}
	seen := f.look(from(old), at)
	base, err := f.base(ctx, i, old, at, t, l)
	if err != nil {
		return nil, err
	}
	lost := l.lost(ctx, old, base, t)
	fields, next.Lost = l.asWritten(fields, base, t, lost)
	if old.of(next.Version) { // another may be shared
		next.Refused = old.refusedOf(next.Lost)
	}
	text, ok := split(base).rewritten(fields, words)
	if !ok { // front matter that is not understood is kept beside, too
		if err := f.aside(cmp.Or(from(old), at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		text = page{end: "\n"}.with(fields, words)
	}
	p := &plan{item: i, old: old, next: next, text: text.String(), seen: seen}
	next.SHA, next.Size = hashOf(p.text), int64(len(p.text))
	was := cmp.Or(old, left)
	next.Past, next.Lay = was.pastOf(next.SHA), was.before(at)
	if p.text == base && (old == nil || old.Path == at) {
		if info, err := f.root.Lstat(at); err == nil {
			p.there, next.Mtime = true, info.ModTime().UnixNano()
		}
	}
	return p, nil
}

// written reports whether a file was written as it was noted. What a person did to
// it since is for a scan to tell.
func (f *files) written(r *record) bool {
	if !r.Unsure {
		return true
	}
	text, err := f.read(r.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && hashOf(text) != r.SHA && r.own(hashOf(text)) {
		return false
	}
	r.Unsure = false
	return true
}

// look notes how files are before they are read.
func (f *files) look(paths ...string) map[string]fs.FileInfo {
	seen := map[string]fs.FileInfo{}
	for _, at := range paths {
		if info, err := f.root.Lstat(at); err == nil {
			seen[at] = info
		}
	}
	return seen
}

// keep saves what a person wrote to a path since it was read.
func (f *files) keep(p *plan, at string) error {
	if p.erased {
		return nil
	}
	info, err := f.root.Lstat(at)
	if err != nil {
		return nil // there is nothing
	}
	if was := p.seen[at]; was != nil && os.SameFile(was, info) && was.ModTime().Equal(info.ModTime()) && was.Size() == info.Size() {
		return nil
	}
	if r := f.index.paths[at]; r != nil && r.Mtime == info.ModTime().UnixNano() && r.Size == info.Size() {
		return nil // Loci's own, of this batch
	}
	return f.aside(at)
}

func from(r *record) string {
	if r == nil {
		return ""
	}
	return r.Path
}

func stateOf(at string, fields []field, words string) string {
	var b strings.Builder
	b.WriteString(at)
	for _, f := range fields {
		if f.key == sharedKey && f.value == "" {
			continue // as states were before there was the key
		}
		b.WriteString("\x00" + f.key + "\x00" + f.value)
	}
	return hashOf(b.String() + "\x00" + words)[:32]
}

func (t thing) version() int64 {
	switch {
	case t.fact != nil:
		return t.fact.Version
	case t.turn != nil:
		return t.turn.Version
	case t.summary != nil:
		return t.summary.Version
	case t.profile != nil:
		return t.profile.Version
	case t.context != nil:
		return t.context.Version
	case t.conversation != nil:
		return t.conversation.Version
	}
	return 0
}

// base returns the text that is written over, whose other lines stay. If it is not
// what Loci wrote, nor says what Loci says, a person's hand was quicker: it is kept
// beside, under a name that says so.
func (f *files) base(ctx context.Context, i item, old *record, at string, t thing, l *loader) (string, error) {
	from := at
	if old != nil {
		from = old.Path
		if at != from {
			if err := f.clear(ctx, i, at, t, l); err != nil {
				return "", err
			}
		}
	}
	text, err := f.read(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", f.aside(from)
	case old != nil && old.own(hashOf(text)):
		return text, nil
	case old == nil && f.index.paths[at] != nil && f.index.paths[at].own(hashOf(text)):
		return "", nil // another memory's, which leaves the name
	}
	if f.saysTheSame(ctx, i, from, text, t, l) {
		return text, nil
	}
	return text, f.aside(from)
}

// clear makes room at a path that a file is to move to.
func (f *files) clear(ctx context.Context, i item, at string, t thing, l *loader) error {
	text, err := f.read(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if r := f.index.paths[at]; r != nil && r.own(hashOf(text)) {
			return nil // its own plan has moved it, or will
		}
		if f.saysTheSame(ctx, i, at, text, t, l) {
			return nil
		}
	}
	return f.aside(at)
}

// saysTheSame reports whether a file says nothing that Loci does not say.
func (f *files) saysTheSame(ctx context.Context, i item, at, text string, t thing, l *loader) bool {
	p, ok := f.s.placeOf(at)
	if !ok {
		return false
	}
	p.owner, p.was = i.owner, f.before(i.key)
	read, err := l.readFile(ctx, p, text, t, f.index.targets[i.key])
	return err == nil && read.clash == "" && read.says.target() == i.target && !adds(read.says, t, l.link)
}

// sameWords reports whether texts are the same but for how lines end.
func sameWords(a, b string) bool { return a == b || plainWords(a) == plainWords(b) }

// plainWords are words however their lines end, without empty lines around them.
func plainWords(s string) string { return strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n") }

// aside gives a file another name, which says that there was a conflict.
func (f *files) aside(at string) error {
	if r := f.index.paths[at]; r != nil {
		r.State, r.Aside = "", true
		if err := f.index.note(r); err != nil {
			return err
		}
	}
	stamp := f.s.clock.now().UTC().Format("2006-01-02T15-04-05")
	for n := 1; ; n++ {
		name := strings.TrimSuffix(at, ".md") + conflictMark + stamp
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		name += ".md"
		if _, err := f.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			f.s.opts.Log.Warn("a file was edited while its memory changed: both are kept", "file", LogPath(at), "edited", LogPath(name))
			return wrapPath(at, f.root.Rename(at, name))
		}
	}
}

// Errors of files that are not read.
var (
	errNotFile = errors.New("it is not a plain file")
	errTooLong = fmt.Errorf("it has more than %d bytes", maxFile)
)

// read returns a file's text. Links are not followed.
func (f *files) read(at string) (string, error) {
	info, err := f.root.Lstat(at)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotFile
	}
	if info.Size() > maxFile {
		return "", errTooLong
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

// commit writes the plans: all files beside their places, then what they are to be
// into the log, then each takes its place.
func (f *files) commit(plans []*plan) error {
	if len(plans) == 0 {
		return nil
	}
	if err := f.prepare(plans); err != nil {
		return err
	}
	var notes []*record
	for _, p := range plans {
		if p.old != nil && (p.next == nil || p.next.Path != p.old.Path) {
			notes = append(notes, &record{Path: p.old.Path})
		}
		if p.next != nil {
			notes = append(notes, p.next)
		}
	}
	if err := f.index.note(notes...); err != nil {
		return fmt.Errorf("write the log of the files: %w", err)
	}
	f.s.opts.failpoint(beforeFiles)
	folders := map[string]bool{}
	for _, p := range plans {
		if err := f.place(p, folders); err != nil {
			return err
		}
		f.s.opts.failpoint(betweenFiles)
	}
	for folder := range folders {
		if err := f.syncFolder(folder); err != nil {
			return err
		}
	}
	f.s.opts.failpoint(afterFiles)
	return nil
}

// tempName is what the nth file of a batch is called until it is whole.
func tempName(n int) string { return fmt.Sprintf(".%d.tmp", n) }

var tempNames = late.Compile(`^\.\d+\.tmp$`)

// isTemp reports whether a name is one of those: of a file that Loci is writing, or was when
// it died. What others call theirs is theirs.
func isTemp(name string) bool { return tempNames.MatchString(name) }

// prepare writes the files under names that nobody looks at.
func (f *files) prepare(plans []*plan) error {
	var group errgroup.Group
	group.SetLimit(syncers)
	made := map[string]bool{}
	for n, p := range plans {
		if p.next == nil || p.there {
			continue
		}
		folder := path.Dir(p.next.Path)
		if !made[folder] {
			if err := f.makeFolder(folder); err != nil {
				return err
			}
			made[folder] = true
		}
		p.temp = path.Join(folder, tempName(n))
		group.Go(func() error { return wrapPath(p.next.Path, f.writeTemp(p)) })
	}
	return group.Wait()
}

// makeFolder makes a folder that lasts.
func (f *files) makeFolder(folder string) error {
	if _, err := f.root.Stat(folder); err == nil {
		return nil
	}
	if err := f.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for up := path.Dir(folder); ; up = path.Dir(up) {
		if err := f.syncFolder(up); err != nil || up == "." {
			return err
		}
	}
}

func (f *files) syncFolder(folder string) error { return disk.SyncFolder(f.full(folder)) }

func (f *files) writeTemp(p *plan) error {
	file, err := f.root.OpenFile(p.temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(p.text)
	err = errors.Join(err, file.Sync())
	if info, statErr := file.Stat(); statErr == nil {
		p.next.Mtime = info.ModTime().UnixNano() // a rename leaves it
	}
	return errors.Join(err, file.Close())
}

// place gives a file its name and takes the old one away.
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
		if err := f.remove(p); err != nil {
			return wrapPath(p.old.Path, err)
		}
		folders[path.Dir(p.old.Path)] = true
		if f.index.paths[p.old.Path] == p.old {
			f.index.drop(p.old.Path)
		}
	}
	if p.next != nil {
		f.index.put(p.next)
	}
	return nil
}

// remove takes the file away that a memory no longer has, if it is still as Loci
// wrote it or what was just moved. Another file's may lie there by now.
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
