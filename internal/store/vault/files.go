package vault

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
)

// files follow the store within: what a write was about is dirty, and one goroutine writes what is
// dirty as it is by then.
type files struct {
	s     *Store
	root  *os.Root
	index *index // guarded by disk

	disk    sync.Mutex           // held while files are read or written
	open    map[key]Edit         // edits that were given out and not answered; guarded by disk
	left    map[key]*record      // of files that a person deleted, until Loci writes them elsewhere; guarded by disk
	missed  map[string]time.Time // since when the last scan misses files, by path: nothing is written there; guarded by disk
	scanned bool                 // the folder was scanned since the start; guarded by disk

	mu      sync.Mutex             // guards what follows
	queue   []key                  // what is dirty and waits for nothing, in order: what was written together shares folders
	dirty   map[key]bool           // whose files are to be written; true: it waits for a scan, or for the answer to an edit
	writing int                    // how many are being written
	heads   map[memory.Owner]int64 // newest versions that are known
	commits int
	failed  error      // why files could not be written the last time
	idle    *sync.Cond // nothing is dirty any more, or it cannot be written

	wake, hurry chan struct{}
	wrote       chan struct{} // holds a token when something was
	stop        chan struct{}
	done        chan struct{}
	started     bool
}

func openFiles(s *Store) (*files, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	x, err := openIndex(s.own(recordsFile))
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f := &files{
		s: s, root: root, index: x, open: map[key]Edit{}, left: map[key]*record{}, dirty: map[key]bool{}, heads: map[memory.Owner]int64{},
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), wrote: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.idle = sync.NewCond(&f.mu)
	return f, nil
}

func (f *files) start() {
	f.started = true
	go f.run()
}

// follow notes the version that an owner has in the store within.
func (f *files) follow(owner memory.Owner, version int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heads[owner] = version
	if f.index.written[owner] < version {
		f.mark(key{owner, ""})
	}
}

// resume marks what was dirty when the last process ended: after an erasure that was cut short
// every file.
func (f *files) resume(crashed, erasing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for owner := range f.heads {
		if erasing {
			delete(f.index.written, owner)
			f.mark(key{owner, ""})
		}
	}
	for k, r := range f.index.targets {
		if r.Due || r.Open && crashed {
			f.mark(k)
		}
	}
}

// committed marks what a call was about. Where nobody knows whether it committed, that is all that
// was written since the files were whole.
func (f *files) committed(owner memory.Owner, receipt memory.Receipt, targets []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case refused(err) || !owner.Valid() || receipt.Again:
	case err != nil:
		f.mark(key{owner, ""})
	default:
		f.commits++
		if receipt.Version > 0 {
			f.heads[owner] = max(f.heads[owner], receipt.Version)
		}
		for _, t := range targets {
			f.mark(key{owner, t})
		}
	}
}

// due says that the files of these things are to be written.
func (f *files) due(keys ...key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range keys {
		f.mark(k)
	}
}

// mark makes a thing dirty. A target "" is all that was written for the owner since the files were
// whole. f.mu is held.
func (f *files) mark(k key) {
	if waits, ok := f.dirty[k]; !ok || waits {
		f.queue = append(f.queue, k)
	}
	f.dirty[k] = false
	poke(f.wake)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait leaves a dirty thing that was taken until a scan is done, or an edit answered.
func (f *files) wait(k key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, again := f.dirty[k]; !again {
		f.dirty[k] = true
	}
}

// release lets what waited be tried again.
func (f *files) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, waits := range f.dirty {
		if waits {
			f.mark(k)
		}
	}
}

// before is where the file of a memory was last written: amongKept, amongDeleted, or "" for nowhere.
func (f *files) before(k key) string {
	r := f.index.targets[k]
	if r == nil || r.SHA == "" {
		return ""
	}
	if p, ok := f.s.placeOf(r.Path); ok && p.deleted {
		return amongDeleted
	}
	return amongKept
}

// owners are those who have something in the store within, in order.
func (f *files) owners() []memory.Owner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.heads))
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

// drain writes everything that is dirty. What cannot be written stays so.
func (f *files) drain() error {
	var err error
	for err == nil {
		batch, commits := f.take()
		if len(batch) == 0 {
			break
		}
		began := time.Now()
		var failed []key
		failed, err = f.write(context.Background(), batch)
		f.due(failed...)
		f.mu.Lock()
		f.writing = 0
		f.mu.Unlock()
		poke(f.wrote)
		if err == nil {
			f.rest(commits, time.Since(began))
		}
	}
	if err == nil {
		err = f.noteWritten()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed = err; err != nil {
		select { // the retry comes later
		case <-f.wake:
		default:
		}
	}
	f.idle.Broadcast()
	return err
}

// noteWritten notes up to which versions the files are whole, if nothing is dirty and no call
// is committing.
func (f *files) noteWritten() error {
	f.disk.Lock()
	defer f.disk.Unlock()
	if !f.s.mu.TryLock() {
		return nil
	}
	defer f.s.mu.Unlock()
	return f.markWritten()
}

// markWritten is noteWritten; f.disk and f.s.mu are held.
func (f *files) markWritten() error {
	f.mu.Lock()
	whole, versions := len(f.dirty)+f.writing == 0, maps.Clone(f.heads)
	f.mu.Unlock()
	if !whole {
		return nil
	}
	return f.index.mark(versions)
}

// rest leaves the disk and the processor to those who write memories, as long as
// they do: files take a tenth of the time, and lag behind.
func (f *files) rest(commits int, took time.Duration) {
	f.mu.Lock()
	busy := f.commits != commits
	f.mu.Unlock()
	if !busy {
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

func (f *files) take() (batch []key, commits int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.queue), maxBatch)
	batch = slices.Clone(f.queue[:n])
	f.queue = slices.Delete(f.queue, 0, n)
	for _, k := range batch {
		delete(f.dirty, k)
	}
	f.writing = len(batch)
	return batch, f.commits
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
	for ctx.Err() == nil && f.failed == nil && f.writing+len(f.queue) > 0 {
		poke(f.hurry)
		f.idle.Wait()
	}
	return errors.Join(ctx.Err(), f.failed)
}

func (f *files) close() error {
	var errs []error
	if f.started {
		close(f.stop)
		<-f.done
		errs = append(errs, f.drain())
	}
	return errors.Join(append(errs, f.index.db.Close(), f.root.Close())...)
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
