package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// lull is how long files wait for more of their kind, so that a chat's turns,
	// facts and marks are written together. A person sees them within a second.
	lull = 50 * time.Millisecond
	// again is when files that could not be written are tried once more.
	again = 2 * time.Second
	// maxBatch bounds how many files are written between two looks at the world.
	maxBatch = 256
	// minLog is the length of the log from which a snapshot is worth its while.
	minLog = 2000
)

// files follow the journal: what a line was about is due, and one goroutine writes
// what is due as it now stands.
type files struct {
	s     *Store
	root  *os.Root
	index *index // guarded by disk

	disk   sync.Mutex      // held while files are read or written
	open   map[key]Edit    // edits that were given out and not answered; guarded by disk
	left   map[key]*record // of what files were that a person deleted, until Loci writes them elsewhere; guarded by disk
	parked []item          // due, but waiting for the answer to an edit; guarded by disk

	missed map[string]time.Time // since when the last scan knows that files are gone, by path: nothing is written there; guarded by disk

	sameFolder func(a, b string) bool // whether the disk finds one folder under both paths; tests take its place

	mu     sync.Mutex // guards what follows
	queue  []item     // in the order in which they became due
	queued map[key]bool
	busy   int   // items taken from the queue and not yet written
	size   int64 // of the journal that has been looked at
	failed error // why files could not be written the last time
	heads  map[memory.Owner]head
	idle   *sync.Cond // nothing is due any more, or it cannot be written

	wake, hurry chan struct{}
	wrote       chan struct{} // holds a token when something was
	stop        chan struct{}
	done        chan struct{}
	started     bool
}

// item is a thing whose file is due, and where the first line about it begins.
type item struct {
	key
	from int64
}

func openFiles(s *Store) (*files, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	x, err := openIndex(s.own(indexFile), s.own(indexLog))
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f := &files{
		s: s, root: root, index: x, open: map[key]Edit{}, left: map[key]*record{}, queued: map[key]bool{}, heads: map[memory.Owner]head{},
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), wrote: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.idle = sync.NewCond(&f.mu)
	f.sameFolder = f.oneFolder
	for _, old := range x.leaving {
		if err := f.leave(old); err != nil {
			return nil, errors.Join(wrapPath(old.Path, err), x.log.Close(), root.Close())
		}
	}
	x.leaving = nil
	for k, r := range x.targets {
		if r.Unsure || r.State == "" { // a file that was noted or accepted, and then the process ended
			f.enqueue(item{k, x.Journal})
		}
		if id, ok := sharedFact(k.target); ok { // a file of before, which goes; the fact's says it
			f.enqueue(item{k, x.Journal})
			f.enqueue(item{key{k.owner, factTarget + id}, x.Journal})
		}
	}
	return f, nil
}

// leave ends what a crash cut short: the file that was to go goes, if the one that
// took its place is there; if not, it is still the memory's.
func (f *files) leave(old *record) error {
	text, err := f.read(old.Path)
	if err != nil || !old.own(hashOf(text)) || f.index.paths[old.Path] != nil {
		return nil // it went, or is somebody else's by now
	}
	k := key{old.Owner, old.Target}
	next := f.index.targets[k]
	if next != nil {
		text, err := f.read(next.Path)
		if err != nil || hashOf(text) != next.SHA {
			f.index.drop(next.Path)
			f.index.put(old)
			f.enqueue(item{k, f.index.Journal})
			return nil
		}
	}
	return f.root.Remove(old.Path)
}

func (f *files) start() {
	f.started = true
	go f.run()
}

// due says that the files of these things are to be written.
func (f *files) due(owner memory.Owner, targets []string, from int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range targets {
		f.enqueue(item{key{owner, t}, from})
	}
}

func (f *files) enqueue(i item) {
	if !f.queued[i.key] {
		f.queued[i.key] = true
		f.queue = append(f.queue, i)
	}
	poke(f.wake)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// journalled takes what lines are about that are on the disk now.
func (f *files) journalled(group []*ticket, size int64) {
	from := size
	for _, t := range group {
		from -= int64(len(t.text))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range group {
		for _, target := range t.targets {
			f.enqueue(item{key{t.owner, target}, from})
		}
		f.heads[t.owner] = f.heads[t.owner].next(t.version, t.at, t.commits, t.raises, from)
		from += int64(len(t.text))
	}
	f.size = size
}

func (f *files) noteHead(owner memory.Owner, h head) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heads[owner] = h
}

func (f *files) journalledTo(size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size = size
}

func (f *files) run() {
	defer close(f.done)
	var retry <-chan time.Time
	for {
		select {
		case <-f.stop:
			return
		case <-f.hurry:
		case <-retry:
		case <-f.wake:
			pause := time.NewTimer(f.s.opts.lull)
			select {
			case <-f.stop:
			case <-f.hurry:
			case <-pause.C:
			}
			pause.Stop()
		}
		retry = nil
		if err := f.drain(); err != nil {
			f.s.opts.Log.Warn("files of the vault wait", "error", err)
			retry = time.After(again)
		}
	}
}

// drain writes everything that is due. What cannot be written is due again.
func (f *files) drain() error {
	var errs []error
	var left []item
	for {
		batch := f.take()
		if len(batch) == 0 {
			break
		}
		began, size := time.Now(), f.now()
		failed, err := f.write(context.Background(), batch)
		left = append(left, failed...)
		if err != nil {
			errs = append(errs, err)
		}
		f.mu.Lock()
		f.busy = 0
		f.mu.Unlock()
		poke(f.wrote)
		if len(errs) > 0 {
			break
		}
		f.rest(size, time.Since(began))
	}
	f.mu.Lock()
	for _, i := range left {
		if !f.queued[i.key] {
			f.queued[i.key] = true
			f.queue = append(f.queue, i)
		}
	}
	f.failed = errors.Join(errs...)
	err := f.failed
	f.idle.Broadcast()
	f.mu.Unlock()
	return err
}

// rest leaves the disk and the processor to those who write memories, as long as
// they do: files take a tenth of the time, and lag behind.
func (f *files) rest(size int64, took time.Duration) {
	if f.now() == size {
		return
	}
	pause := time.NewTimer(min(9*took, 2*time.Second))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-f.stop:
	case <-f.hurry:
		poke(f.hurry) // for the next one
	}
}

func (f *files) take() []item {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.queue), maxBatch)
	batch := slices.Clone(f.queue[:n])
	f.queue = slices.Delete(f.queue, 0, n)
	for _, i := range batch {
		delete(f.queued, i.key)
	}
	f.busy = len(batch)
	return batch
}

func (f *files) settle(ctx context.Context) error {
	wakeUp := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.idle.Broadcast()
	})
	defer wakeUp()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = nil
	for ctx.Err() == nil && f.failed == nil && len(f.queue)+f.busy > 0 {
		poke(f.hurry)
		f.idle.Wait()
	}
	return errors.Join(ctx.Err(), f.failed)
}

// snapshot saves the index, up to the first line that is not yet in the files.
func (f *files) snapshot() error {
	f.mu.Lock()
	f.index.Journal = f.size
	for _, i := range f.queue {
		f.index.Journal = min(f.index.Journal, i.from)
	}
	for owner, h := range f.heads {
		f.index.Heads[owner] = h
	}
	f.mu.Unlock()
	for _, i := range f.parked {
		f.index.Journal = min(f.index.Journal, i.from)
	}
	return f.index.save(f.s.own(indexFile))
}

func (f *files) close() error {
	var errs []error
	if f.started {
		close(f.stop)
		<-f.done
		errs = append(errs, f.drain())
		f.disk.Lock()
		defer f.disk.Unlock()
		errs = append(errs, f.snapshot())
	}
	return errors.Join(append(errs, f.index.log.Close(), f.root.Close())...)
}

// oneFolder reports whether two paths are of one folder.
func (f *files) oneFolder(a, b string) bool {
	one, err := f.root.Lstat(a)
	if err != nil {
		return false
	}
	other, err := f.root.Lstat(b)
	return err == nil && os.SameFile(one, other)
}

// full is the path of a file in the vault for the system.
func (f *files) full(path string) string { return filepath.Join(f.s.dir, filepath.FromSlash(path)) }

// wrapPath says which file an error is of.
func wrapPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
