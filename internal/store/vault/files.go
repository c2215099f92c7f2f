package vault

import (
	"cmp"
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
	// lull is how long dirty files wait for more changes, so that a chat's turns, facts and marks
	// are written together. People see a change within a second.
	lull = 50 * time.Millisecond
	// again is the delay before failed files are written again.
	again = 2 * time.Second
	// maxBatch limits the files written between two checks for other work.
	maxBatch = 256
)

// files keeps the files up to date with the wrapped store: a write marks things as dirty, and later
// their current content is written to their files.
type files struct {
	s     *Store
	root  *os.Root
	index *index // the records; guarded by disk

	disk    sync.Mutex           // held while files are read or written
	open    map[key]Edit         // unanswered edits; guarded by disk
	missed  map[string]time.Time // paths of files that scans did not find, and the time of the first such scan; guarded by disk
	scanned bool                 // whether a scan ran since the start; guarded by disk

	mu    sync.Mutex             // guards the rest
	dirty map[key]bool           // files to write; true: the file waits for a scan or for the answer to an edit
	heads map[memory.Owner]int64 // newest versions of the wrapped store that were seen

	wake  chan struct{} // holds a token when a file is dirty
	wrote chan struct{} // holds a token when files were written
	stop  chan struct{}
	done  chan struct{} // nil: run was not started
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
	return &files{
		s: s, root: root, index: x, open: map[key]Edit{}, dirty: map[key]bool{}, heads: map[memory.Owner]int64{},
		wake: make(chan struct{}, 1), wrote: make(chan struct{}, 1), stop: make(chan struct{}),
	}, nil
}

// committed marks the targets of a call as dirty. If the call's outcome is unknown, it marks
// everything written since the files were last complete.
func (f *files) committed(owner memory.Owner, receipt memory.Receipt, targets []string, err error) {
	switch {
	case refused(err) || !owner.Valid() || receipt.Again:
	case err != nil:
		f.due(key{owner, ""})
	default:
		f.follow(owner, receipt.Version)
		for _, t := range targets {
			f.due(key{owner, t})
		}
	}
}

// follow records an owner's current version in the wrapped store.
func (f *files) follow(owner memory.Owner, version int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heads[owner] = max(f.heads[owner], version)
}

// due marks things as dirty. The target "" stands for everything written for the owner since the
// files were last complete.
func (f *files) due(keys ...key) {
	f.mark(false, keys...)
	poke(f.wake)
}

// mark marks things as dirty. A file that waits stops waiting if it is marked again.
func (f *files) mark(waits bool, keys ...key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range keys {
		_, dirty := f.dirty[k]
		f.dirty[k] = waits && !dirty
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// release ends the waiting of all things that wait.
func (f *files) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.dirty {
		f.dirty[k] = false
	}
	poke(f.wake)
}

// before returns where a memory's file was last written: amongKept, amongDeleted, or "" if it was
// never written.
func (f *files) before(k key) string {
	r := f.index.targets[k]
	if r.none() {
		return ""
	}
	if p, ok := f.s.placeOf(r.Path); ok && p.deleted {
		return amongDeleted
	}
	return amongKept
}

// owners returns the owners in the wrapped store, in order.
func (f *files) owners() []memory.Owner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.heads))
}

// run writes dirty files until it is stopped. While memories are being written, writing files takes
// at most a tenth of the time, and the files lag behind.
func (f *files) run() {
	defer close(f.done)
	pause := time.NewTimer(f.s.opts.lull)
	defer pause.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-f.wake:
		}
		pause.Reset(f.s.opts.lull)
		for wrote := true; wrote; {
			select {
			case <-f.stop:
				return
			case <-pause.C:
			}
			began := time.Now()
			var err error
			if wrote, err = f.flushSome(context.Background()); err != nil {
				f.s.opts.Log.Warn("some files of the vault cannot be written yet", "error", err)
				time.AfterFunc(again, func() { poke(f.wake) })
				break
			}
			rest := time.Duration(0)
			if len(f.wake) > 0 {
				rest = min(9*time.Since(began), again)
			}
			pause.Reset(rest)
		}
	}
}

// flush writes all dirty files that do not wait, and records the versions up to which the files are
// complete. A file that cannot be written stays dirty.
func (f *files) flush(ctx context.Context) error {
	for {
		if wrote, err := f.flushSome(ctx); err != nil || !wrote {
			return err
		}
	}
}

func (f *files) flushSome(ctx context.Context) (wrote bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	f.disk.Lock()
	defer f.disk.Unlock()
	batch := f.take()
	if len(batch) == 0 {
		if !f.s.mu.TryLock() { // a call is committing
			return false, nil
		}
		defer f.s.mu.Unlock()
		return false, f.markWritten()
	}
	failed, err := f.write(context.WithoutCancel(ctx), batch)
	f.mark(false, failed...)
	poke(f.wrote)
	return true, err
}

// take removes and returns the dirty things that do not wait.
func (f *files) take() (batch []key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, waits := range f.dirty {
		if len(batch) == maxBatch {
			break
		}
		if !waits {
			batch = append(batch, k)
			delete(f.dirty, k)
		}
	}
	slices.SortFunc(batch, func(a, b key) int { return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.target, b.target)) })
	return batch
}

// markWritten records the versions up to which the files are complete, if nothing is dirty; the
// caller holds f.disk and f.s.mu.
func (f *files) markWritten() error {
	f.mu.Lock()
	whole, versions := len(f.dirty) == 0, maps.Clone(f.heads)
	f.mu.Unlock()
	if !whole {
		return nil
	}
	return f.index.mark(versions)
}

func (f *files) close() error {
	var errs []error
	if f.done != nil {
		close(f.stop)
		<-f.done
		errs = append(errs, f.flush(context.Background()))
	}
	return errors.Join(append(errs, f.index.db.Close(), f.root.Close())...)
}

// full returns a file's path in the operating system.
func (f *files) full(path string) string { return filepath.Join(f.s.dir, filepath.FromSlash(path)) }

// wrapPath adds a file's path to an error.
func wrapPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
