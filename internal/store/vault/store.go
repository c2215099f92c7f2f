package vault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// Options configures a vault. The zero value means the defaults.
type Options struct {
	Now       func() time.Time // nil uses time.Now
	HomeOwner memory.Owner     // owner of the top-level folder entries; "" means the user "default"
	Log       *slog.Logger     // nil disables the log

	// failpoint is called at named points of a write; tests crash the process in the call.
	failpoint  func(point string)
	writeDelay time.Duration            // 0 uses the constant writeDelay; tests shorten the delay
	notify     func() (*notices, error) // nil uses systemNotices; tests replace the function
}

// Points of a write at which a test can crash the process.
const (
	afterCommit  = "after the commit"
	beforeFiles  = "before files are renamed"
	betweenFiles = "between two files"
	afterFiles   = "after the files are renamed, before their records are saved"
)

// The vault's own folder and its content.
const (
	OwnFolder = ".loci" // name in the vault's folder
	lockName  = "lock"
)

// OpenStore opens the wrapped store. now is the vault's clock.
type OpenStore func(now func() time.Time) (memory.Store, error)

// Store is a vault: a [memory.Store] whose memories are also files in a folder.
type Store struct {
	memory.Store // the wrapped store, which answers reads and contains the history

	dir    string
	opts   Options
	files  *fileWriter
	unlock func() error // unlocks the file lock

	copyMu    sync.Mutex   // locked during a copy or an erasure, always before the other mutexes
	mu        sync.RWMutex // read-locked during a write; guards closed
	closed    bool
	closeOnce sync.Once
	closeErr  error
}

var _ memory.Store = (*Store)(nil)

// Open opens the vault in dir, creates dir if missing, and updates the files from the wrapped store.
// If the wrapped store is empty or older than the files, missing memories are rebuilt from the
// files. The error is [memory.Conflict] if another process has the vault open.
func Open(ctx context.Context, dir string, openStore OpenStore, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HomeOwner == "" {
		o.HomeOwner = memory.User(memory.DefaultNamespace, "default")
	}
	if o.notify == nil {
		o.notify = systemNotices
	}
	if o.failpoint == nil {
		o.failpoint = func(string) {}
	}
	if o.writeDelay == 0 {
		o.writeDelay = writeDelay
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{dir: dir, opts: o}
	if err := s.open(ctx, openStore); err != nil {
		return nil, errors.Join(fmt.Errorf("open the vault %s: %w", dir, err), s.closeAll())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, openStore OpenStore) error {
	if err := os.MkdirAll(s.ownPath(), 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(s.ownPath(lockName), "has the vault open; only one process may")
	if err != nil {
		return err
	}
	s.unlock = unlock
	if s.files, err = openFileWriter(s); err != nil {
		return err
	}
	if s.Store, err = openStore(s.opts.Now); err != nil {
		return err
	}
	if err := s.reconcile(ctx); err != nil {
		return err
	}
	s.files.done = make(chan struct{})
	go s.files.run()
	if s.isErasing() { // a crash interrupted an erasure
		return s.finishErasure(ctx)
	}
	return nil
}

// Dir returns the vault's folder.
func (s *Store) Dir() string { return s.dir }

// OwnersWithFiles returns the owners with memories in the vault, sorted.
func (s *Store) OwnersWithFiles() []memory.Owner { return s.files.owners() }

// Written returns a channel that receives a token after files were written. Only one goroutine may
// read from the channel.
func (s *Store) Written() <-chan struct{} { return s.files.written }

// RebuiltAt returns the time of the last full rebuild from the files, which starts a new history; zero
// if there was no full rebuild.
func (s *Store) RebuiltAt() time.Time {
	s.files.disk.Lock()
	defer s.files.disk.Unlock()
	return s.files.records.rebuild.At
}

// ownPath returns a path in the vault's own folder, .loci.
func (s *Store) ownPath(elems ...string) string {
	return filepath.Join(append([]string{s.dir, OwnFolder}, elems...)...)
}

// Close waits for operations in progress, writes due files and closes everything.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.closeErr = s.closeAll()
	})
	return s.closeErr
}

// closeAll closes the files, then the wrapped store, then the lock.
func (s *Store) closeAll() error {
	var errs []error
	if s.files != nil {
		errs = append(errs, s.files.close())
	}
	if s.Store != nil {
		errs = append(errs, s.Store.Close())
	}
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	return errors.Join(errs...)
}

// Flush waits until the files contain all writes acknowledged before the call. Files that cannot be
// written now are retried later and named in the error.
func (s *Store) Flush(ctx context.Context) error { return s.files.flush(ctx) }

// Ping reports whether the wrapped store answers.
func (s *Store) Ping(ctx context.Context) error {
	if p, ok := s.Store.(interface{ Ping(context.Context) error }); ok {
		return p.Ping(ctx)
	}
	return nil
}
