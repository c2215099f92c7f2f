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

// The folder is checked after debounce without changes, at least every patience during changes, and
// every rescan in any case, since network folders report nothing; every poll if the system cannot
// report changes.
const (
	debounce = 200 * time.Millisecond
	patience = time.Second
	rescan   = 30 * time.Second
	poll     = 2 * time.Second
)

// Watch calls yield with a report, at once and after changes of the folder, until the context ends,
// whose error it returns, or yield fails. It reports missing files after [Settle]. Unanswered edits
// come again with the next report.
func (s *Store) Watch(ctx context.Context, yield func(Report) error) error {
	w := &watcher{s: s}
	notices, err := s.opts.notify()
	if err == nil {
		w.notices = *notices
		defer notices.close() //nolint:errcheck // nothing is lost with it
		w.addAll(".")
	} else {
		w.lost(err)
	}
	for {
		report, err := s.Scan(ctx, ScanOptions{Settle: Settle})
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
		if err := w.wait(ctx, report.settles); err != nil {
			return err
		}
	}
}

// notices are the system's notifications about watched folders.
type notices struct {
	events chan fsnotify.Event
	faults chan error
	add    func(folder string) error
	close  func() error
}

func systemNotices() (*notices, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notices{w.Events, w.Errors, w.Add, w.Close}, nil
}

// watcher receives notifications as far as the system supports them.
type watcher struct {
	notices
	s     *Store
	blind bool // some folders are not watched: the system's limit is reached
}

// lost records that not every folder is watched.
func (w *watcher) lost(err error) {
	why := err.Error()
	switch { // Linux, which says so by the errors of other things
	case errors.Is(err, syscall.ENOSPC):
		why = "the system watches no more folders: raise fs.inotify.max_user_watches"
	case errors.Is(err, syscall.EMFILE):
		why = "the system lets no more programs watch: raise fs.inotify.max_user_instances"
	}
	w.blind = true
	w.s.opts.Log.Warn("not every folder of the vault can be watched; all are read every few seconds instead", "why", why)
}

// addAll watches a folder and its subfolders, as far as possible.
func (w *watcher) addAll(folder string) {
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
		return w.add(w.s.files.full(name))
	})
	if err != nil {
		w.lost(err)
	}
}

// wait returns when the folder is to be checked again, because of a change or because missing files
// settle; 0: none does.
func (w *watcher) wait(ctx context.Context, settles time.Duration) error {
	every := rescan
	if w.blind {
		every = poll
	}
	if settles > 0 {
		every = min(every, settles)
	}
	look := time.NewTimer(every)
	defer look.Stop()
	events, faults := w.events, w.faults
	var until time.Time // the latest time to return
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			return nil
		case err := <-faults: // for example, events were lost
			w.s.opts.Log.Debug("the vault is read again", "error", err)
			look.Reset(debounce)
		case e, ok := <-events:
			if !ok {
				events, faults, w.blind = nil, nil, true
				continue
			}
			if !w.matters(e) {
				continue
			}
			if until.IsZero() {
				until = time.Now().Add(patience)
			}
			look.Reset(min(debounce, max(0, time.Until(until))))
		}
	}
}

// matters reports whether an event may be an edit, and watches new folders.
func (w *watcher) matters(e fsnotify.Event) bool {
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
			w.addAll(name)
		}
	}
	return true
}
