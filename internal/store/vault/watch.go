package vault

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// After a change, Watch scans the folder once it was unchanged for debounce, but at the latest after
// maxDebounce. It also scans every rescanInterval, since network folders report no changes, or every
// pollInterval if the system cannot report changes.
const (
	debounce       = 200 * time.Millisecond
	maxDebounce    = time.Second
	rescanInterval = 30 * time.Second
	pollInterval   = 2 * time.Second
)

// Watch calls yield with a report, at once and after changes of the folder, until yield returns an
// error or ctx ends, and returns the error. A missing file counts as deleted after [DeletionDelay].
// Each report contains the unanswered edits again.
func (s *Store) Watch(ctx context.Context, yield func(Report) error) error {
	w := &watcher{s: s}
	notices, err := s.opts.notify()
	if err == nil {
		w.notices = *notices
		defer notices.close() //nolint:errcheck // the watcher holds no data
		w.watchTree(".")
	} else {
		w.noteUnwatched(err)
	}
	for {
		report, err := s.Scan(ctx, ScanOptions{DeletionDelay: DeletionDelay})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.opts.Log.Warn("the vault cannot be read", "error", err)
		default:
			if err := yield(report); err != nil {
				return err
			}
		}
		if err := w.waitForChange(ctx, report.untilDeleted); err != nil {
			return err
		}
	}
}

// notices delivers the system's notifications about watched folders.
type notices struct {
	events chan fsnotify.Event
	errs   chan error
	watch  func(folder string) error // starts to watch a folder
	close  func() error
}

func systemNotices() (*notices, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notices{w.Events, w.Errors, w.Add, w.Close}, nil
}

// watcher receives the system's notifications about the vault's folders.
type watcher struct {
	notices
	s          *Store
	incomplete bool // whether some folders are not watched, since the system's limit is reached
}

// noteUnwatched records that some folders are not watched, so that they are polled.
func (w *watcher) noteUnwatched(err error) {
	reason := err.Error()
	switch { // Linux reports its limits as unrelated errors
	case errors.Is(err, syscall.ENOSPC):
		reason = "the system's limit of watched folders is reached: raise fs.inotify.max_user_watches"
	case errors.Is(err, syscall.EMFILE):
		reason = "the system's limit of programs that watch folders is reached: raise fs.inotify.max_user_instances"
	}
	w.incomplete = true
	w.s.opts.Log.Warn("some folders of the vault cannot be watched; Loci reads all folders every few seconds instead", "why", reason)
}

// watchTree watches a folder and its subfolders; if the system refuses, they are polled.
func (w *watcher) watchTree(folder string) {
	err := fs.WalkDir(w.s.files.root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		return w.watch(w.s.files.osPath(name))
	})
	if err != nil {
		w.noteUnwatched(err)
	}
}

// waitForChange returns when the folder must be scanned again: after a change, after rescanInterval or
// pollInterval, or after untilDeleted (0 if no file is missing), when a missing file counts as deleted.
func (w *watcher) waitForChange(ctx context.Context, untilDeleted time.Duration) error {
	every := rescanInterval
	if w.incomplete {
		every = pollInterval
	}
	if untilDeleted > 0 {
		every = min(every, untilDeleted)
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	events, faults := w.events, w.errs
	var until time.Time // the latest time to return
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case err := <-faults: // for example, events were lost
			w.s.opts.Log.Debug("watching failed; the vault is read again", "error", err)
			timer.Reset(debounce)
		case e, ok := <-events:
			if !ok {
				events, faults, w.incomplete = nil, nil, true
				continue
			}
			if !w.mayBeEdit(e) {
				continue
			}
			if until.IsZero() {
				until = time.Now().Add(maxDebounce)
			}
			timer.Reset(min(debounce, max(0, time.Until(until))))
		}
	}
}

// mayBeEdit reports whether an event may be an edit. It also starts to watch new folders.
func (w *watcher) mayBeEdit(e fsnotify.Event) bool {
	name, err := filepath.Rel(w.s.dir, e.Name)
	if err != nil {
		return false
	}
	name = filepath.ToSlash(name)
	if strings.HasPrefix(filepath.Base(name), ".") || e.Op == fsnotify.Chmod {
		return false
	}
	if e.Has(fsnotify.Create) {
		if info, err := w.s.files.root.Lstat(name); err == nil && info.IsDir() {
			w.watchTree(name)
		}
	}
	return true
}
