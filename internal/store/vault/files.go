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
	// minLog is the length of the log from which a snapshot is worth its while.
	minLog = 2000
)

// files follow the store within: what a write was about is due, and one goroutine writes
// what is due as it is by then.
type files struct {
	s     *Store
	root  *os.Root
	index *index // guarded by disk

	disk    sync.Mutex           // held while files are read or written
	open    map[key]Edit         // edits that were given out and not answered; guarded by disk
	left    map[key]*record      // of files that a person deleted, until Loci writes them elsewhere; guarded by disk
	parked  map[key]int64        // due, but waiting for the answer to an edit, as queued has it; guarded by disk
	missed  map[string]time.Time // since when the last scan misses files, by path: nothing is written there; guarded by disk
	unsure  bool                 // some files may be as they were before what their records say; guarded by disk
	scanned bool                 // the folder was scanned since the start; guarded by disk

	mu      sync.Mutex             // guards what follows
	queue   []key                  // in the order in which they became due
	queued  map[key]int64          // a version that the files had whole before they became due
	busy    map[key]int64          // taken from the queue and not yet written
	heads   map[memory.Owner]int64 // newest versions that are known
	flights map[*flight]bool
	commits int
	failed  error      // why files could not be written the last time
	idle    *sync.Cond // nothing is due any more, or it cannot be written

	wake, hurry chan struct{}
	wrote       chan struct{} // holds a token when something was
	stop        chan struct{}
	done        chan struct{}
	started     bool
}

// flight is a call that may be committing in the store within: what it writes is newer than
// the floor.
type flight struct {
	owner memory.Owner
	floor int64
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
		s: s, root: root, index: x, open: map[key]Edit{}, left: map[key]*record{}, parked: map[key]int64{},
		queued: map[key]int64{}, busy: map[key]int64{}, heads: map[memory.Owner]int64{}, flights: map[*flight]bool{},
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), wrote: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.idle = sync.NewCond(&f.mu)
	return f, nil
}

func (f *files) start() {
	f.started = true
	go f.run()
}

// follow notes the version that an owner has in the store within, and up to which the files
// have it.
func (f *files) follow(owner memory.Owner, version, written int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heads[owner] = version
	if written < version {
		f.enqueue(key{owner, ""}, written)
	}
}

// resume makes due what was when the last process ended: after an erasure that was cut short
// every file.
func (f *files) resume(crashed, erasing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for owner := range f.heads {
		if erasing {
			f.enqueue(key{owner, ""}, 0)
		}
	}
	for k, r := range f.index.targets {
		f.unsure = f.unsure || r.Due
		if r.Due || erasing || r.Open && crashed {
			f.enqueue(k, f.heads[k.owner])
		}
	}
}

// begin is called before a call commits in the store within, end afterwards.
func (f *files) begin(owner memory.Owner) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &flight{owner, f.heads[owner]}
	f.flights[w] = true
	return w
}

// end makes due what a call was about. Where nobody knows whether it committed, the store
// within is asked.
func (f *files) end(w *flight, receipt memory.Receipt, targets []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.flights, w)
	switch {
	case refused(err) || !w.owner.Valid() || receipt.Again:
	case err != nil:
		f.enqueue(key{w.owner, ""}, w.floor)
	default:
		f.commits++
		if receipt.Version > 0 {
			f.heads[w.owner] = max(f.heads[w.owner], receipt.Version)
		}
		for _, t := range targets {
			f.enqueue(key{w.owner, t}, w.floor)
		}
	}
}

// due says that the files of these things are to be written.
func (f *files) due(owner memory.Owner, targets []string, written int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range targets {
		f.enqueue(key{owner, t}, written)
	}
}

// enqueue makes a thing's file due. A target "" is all that was written for the owner since
// the version. f.mu is held.
func (f *files) enqueue(k key, written int64) {
	if was, ok := f.queued[k]; ok {
		written = min(written, was)
	} else {
		f.queue = append(f.queue, k)
	}
	f.queued[k] = written
	poke(f.wake)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// park leaves a due thing until an edit is answered; f.disk is held.
func (f *files) park(k key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	written, ok := f.busy[k]
	if !ok {
		written = f.heads[k.owner]
	}
	if was, ok := f.parked[k]; ok {
		written = min(written, was)
	}
	f.parked[k] = written
}

// release makes due again what waited for answers; f.disk is held.
func (f *files) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, written := range f.parked {
		f.enqueue(k, written)
	}
	clear(f.parked)
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

// drain writes everything that is due. What cannot be written is due again.
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
		f.mu.Lock()
		for _, k := range failed {
			f.enqueue(k, f.busy[k])
		}
		for _, k := range batch {
			delete(f.busy, k)
		}
		f.mu.Unlock()
		poke(f.wrote)
		if err == nil {
			f.rest(commits, time.Since(began))
		}
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
		f.busy[k] = f.queued[k]
		delete(f.queued, k)
	}
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
	for ctx.Err() == nil && f.failed == nil && len(f.queue)+len(f.busy) > 0 {
		poke(f.hurry)
		f.idle.Wait()
	}
	return errors.Join(ctx.Err(), f.failed)
}

// snapshot saves the index and how far the files were written; f.disk is held.
func (f *files) snapshot() error {
	f.mu.Lock()
	written := maps.Clone(f.heads)
	lower := func(owner memory.Owner, to int64) {
		if v, ok := written[owner]; ok {
			written[owner] = min(v, to)
		}
	}
	for w := range f.flights {
		lower(w.owner, w.floor)
	}
	for _, waiting := range []map[key]int64{f.queued, f.busy, f.parked} {
		for k, to := range waiting {
			lower(k.owner, to)
		}
	}
	f.mu.Unlock()
	f.index.Written = written
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

// forgetRecords forgets what was written to the files of some owners, so that each is read as
// a person's. Nothing was written yet.
func (f *files) forgetRecords(of func(memory.Owner) bool) error {
	f.disk.Lock()
	defer f.disk.Unlock()
	f.index.Rebuilding = true
	for _, r := range slices.Collect(maps.Values(f.index.paths)) {
		if of(r.Owner) {
			f.index.drop(r.Path)
		}
	}
	return f.snapshot()
}

// noteAnew notes when history began anew.
func (f *files) noteAnew(at time.Time) error {
	f.disk.Lock()
	defer f.disk.Unlock()
	f.index.Rebuilt = at
	return f.snapshot()
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
