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
	// writeDelay is the time for which dirty files wait for more changes, so that a chat's turns and
	// facts are written together. People do not notice this delay.
	writeDelay = 50 * time.Millisecond
	// retryDelay is the delay before failed files are written again.
	retryDelay = 2 * time.Second
	// maxBatch limits the number of files that are written while disk is locked.
	maxBatch = 256
)

// fileWriter updates the files from the wrapped store: a write marks targets as dirty, and later
// their current content is written to their files.
type fileWriter struct {
	s       *Store
	root    *os.Root
	records *recordIndex // the records; guarded by disk

	disk         sync.Mutex           // locked while files are read or written
	pendingEdits map[key]Edit         // unanswered edits; guarded by disk
	missingSince map[string]time.Time // by path of a missing file: time of the first scan without the file; guarded by disk
	scanned      bool                 // whether a scan ran since the start; guarded by disk

	mu             sync.Mutex             // guards dirty and latestVersions
	dirty          map[key]bool           // files to write; true if the file waits for a scan or for the answer to an edit
	latestVersions map[memory.Owner]int64 // latest known versions in the wrapped store

	wake    chan struct{} // contains a token when a file is dirty
	written chan struct{} // contains a token when files were written
	stop    chan struct{} // closed to stop run
	done    chan struct{} // closed when run returns; nil if run was not started
}

func openFileWriter(s *Store) (*fileWriter, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	x, err := openRecords(s.ownPath(recordsFile))
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &fileWriter{
		s: s, root: root, records: x, pendingEdits: map[key]Edit{}, dirty: map[key]bool{}, latestVersions: map[memory.Owner]int64{},
		wake: make(chan struct{}, 1), written: make(chan struct{}, 1), stop: make(chan struct{}),
	}, nil
}

// markCommitted marks the targets of a committed write as dirty. If err leaves the outcome unknown, it marks
// all targets of the owner that changed since all files were last up to date.
func (f *fileWriter) markCommitted(owner memory.Owner, receipt memory.Receipt, targets []string, err error) {
	switch {
	case wroteNothing(err) || !owner.Valid() || receipt.Again:
	case err != nil:
		f.markDirty(key{owner, ""})
	default:
		f.setLatestVersion(owner, receipt.Version)
		for _, t := range targets {
			f.markDirty(key{owner, t})
		}
	}
}

// setLatestVersion records an owner's current version in the wrapped store.
func (f *fileWriter) setLatestVersion(owner memory.Owner, version int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latestVersions[owner] = max(f.latestVersions[owner], version)
}

// markDirty marks targets as dirty and starts the writer. The target "" means all targets of the owner
// that changed since all files were last up to date.
func (f *fileWriter) markDirty(keys ...key) {
	f.setDirty(false, keys...)
	sendToken(f.wake)
}

// setDirty marks targets as dirty. A target waits if mustWait is set and the target was not dirty before;
// otherwise it does not wait.
func (f *fileWriter) setDirty(mustWait bool, keys ...key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range keys {
		_, dirty := f.dirty[k]
		f.dirty[k] = mustWait && !dirty
	}
}

func sendToken(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// releaseWaiting ends the waiting of all targets.
func (f *fileWriter) releaseWaiting() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.dirty {
		f.dirty[k] = false
	}
	sendToken(f.wake)
}

// lastFolder returns where a memory's file was last written: inEntries, inDeleted, or "" if the file
// was never written.
func (f *fileWriter) lastFolder(k key) string {
	r := f.records.byTarget[k]
	if r.isUnwritten() {
		return ""
	}
	if p, ok := f.s.parsePath(r.Path); ok && p.deleted {
		return inDeleted
	}
	return inEntries
}

// owners returns the owners in the wrapped store, sorted.
func (f *fileWriter) owners() []memory.Owner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.latestVersions))
}

// run writes dirty files until it is stopped. While memories are being written, run works at most a
// tenth of the time, so that the files are written late but the writers are not slowed down.
func (f *fileWriter) run() {
	defer close(f.done)
	pause := time.NewTimer(f.s.opts.writeDelay)
	defer pause.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-f.wake:
		}
		pause.Reset(f.s.opts.writeDelay)
		for wrote := true; wrote; {
			select {
			case <-f.stop:
				return
			case <-pause.C:
			}
			began := time.Now()
			var err error
			if wrote, err = f.flushBatch(context.Background()); err != nil {
				f.s.opts.Log.Warn("some files of the vault cannot be written yet", "error", err)
				time.AfterFunc(retryDelay, func() { sendToken(f.wake) })
				break
			}
			rest := time.Duration(0)
			if len(f.wake) > 0 {
				rest = min(9*time.Since(began), retryDelay)
			}
			pause.Reset(rest)
		}
	}
}

// flush writes all dirty files that do not wait. If no file is dirty then, it records the versions up to
// which all files were written. A file that cannot be written stays dirty.
func (f *fileWriter) flush(ctx context.Context) error {
	for {
		if wrote, err := f.flushBatch(ctx); err != nil || !wrote {
			return err
		}
	}
}

func (f *fileWriter) flushBatch(ctx context.Context) (hadBatch bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	f.disk.Lock()
	defer f.disk.Unlock()
	batch := f.takeBatch()
	if len(batch) == 0 {
		if !f.s.mu.TryLock() { // a write is in progress and may mark targets as dirty
			return false, nil
		}
		defer f.s.mu.Unlock()
		return false, f.saveWrittenVersions()
	}
	failed, err := f.writeBatch(context.WithoutCancel(ctx), batch)
	f.setDirty(false, failed...)
	sendToken(f.written)
	return true, err
}

// takeBatch removes dirty targets that do not wait, and returns them.
func (f *fileWriter) takeBatch() (batch []key) {
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

// saveWrittenVersions saves the versions up to which the files were written, if nothing is dirty. The
// caller has locked f.disk and f.s.mu.
func (f *fileWriter) saveWrittenVersions() error {
	f.mu.Lock()
	whole, versions := len(f.dirty) == 0, maps.Clone(f.latestVersions)
	f.mu.Unlock()
	if !whole {
		return nil
	}
	return f.records.saveVersions(versions)
}

func (f *fileWriter) close() error {
	var errs []error
	if f.done != nil {
		close(f.stop)
		<-f.done
		errs = append(errs, f.flush(context.Background()))
	}
	return errors.Join(append(errs, f.records.db.Close(), f.root.Close())...)
}

func (f *fileWriter) osPath(path string) string {
	return filepath.Join(f.s.dir, filepath.FromSlash(path))
}

func wrapPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
