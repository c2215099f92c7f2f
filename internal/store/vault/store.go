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

// Options configure a vault. The zero value is the default.
type Options struct {
	Now  func() time.Time // nil: time.Now
	Home memory.Owner     // whose entries lie at the top of the vault; "": the user "default"
	Log  *slog.Logger     // nil: none

	// failpoint is called at the named points of a write; tests kill there.
	failpoint func(point string)
	lull      time.Duration            // 0: lull; tests make it short
	notify    func() (*notices, error) // nil: systemNotices; tests replace it
}

// The points that tests kill at.
const (
	afterCommit  = "after the commit"
	beforeFiles  = "before files are renamed"
	betweenFiles = "between two files"
	afterFiles   = "after files, before their records"
)

// The vault's own folder and what lies in it.
const (
	OwnFolder = ".loci" // in the vault
	lockName  = "lock"
)

// Within opens the store that a vault is around, on the vault's clock.
type Within func(now func() time.Time) (memory.Store, error)

// Store is a vault: a [memory.Store] whose memories are also files in a folder.
type Store struct {
	memory.Store // the store within, which is read and keeps the history

	dir    string
	opts   Options
	files  *files
	unlock func() error

	copying  sync.Mutex   // held while the vault is copied or erases; taken before all others
	mu       sync.RWMutex // guards closed against writes under way
	closed   bool
	closing  sync.Once
	closeErr error
}

var _ memory.Store = (*Store)(nil)

// Open opens the vault in a folder, which is made if it is not there, around the store that
// within opens. Files are brought up to that store. If it is empty, or older than the files,
// what it lacks is rebuilt from them. [memory.Conflict]: another process has the vault open.
func Open(ctx context.Context, dir string, within Within, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Home == "" {
		o.Home = memory.User(memory.DefaultNamespace, "default")
	}
	if o.notify == nil {
		o.notify = systemNotices
	}
	if o.failpoint == nil {
		o.failpoint = func(string) {}
	}
	if o.lull == 0 {
		o.lull = lull
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{dir: dir, opts: o}
	if err := s.open(ctx, within); err != nil {
		return nil, errors.Join(fmt.Errorf("open the vault %s: %w", dir, err), s.release())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, within Within) error {
	if err := os.MkdirAll(s.own(), 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Take(s.own(lockName), "has the vault open; only one may")
	if err != nil {
		return err
	}
	s.unlock = unlock
	if s.files, err = openFiles(s); err != nil {
		return err
	}
	if s.Store, err = within(s.opts.Now); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.files.done = make(chan struct{})
	go s.files.run()
	if s.erasing() { // a crash interrupted it
		return s.endErasing(ctx)
	}
	return nil
}

// Dir is the vault's folder.
func (s *Store) Dir() string { return s.dir }

// Known returns the owners who have memories in the vault, in order.
func (s *Store) Known() []memory.Owner { return s.files.owners() }

// Written holds a token when files were written since it was last taken. It is for
// one reader.
func (s *Store) Written() <-chan struct{} { return s.files.wrote }

// RebuiltAt is when memory was last rebuilt from the files, which begins its history anew;
// zero if it never was.
func (s *Store) RebuiltAt() time.Time {
	s.files.disk.Lock()
	defer s.files.disk.Unlock()
	return s.files.index.rebuild.At
}

// own returns a path in the vault's own folder.
func (s *Store) own(name ...string) string {
	return filepath.Join(append([]string{s.dir, OwnFolder}, name...)...)
}

// Close waits for what is under way, writes the files that are due and releases
// everything.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.closeErr = s.release()
	})
	return s.closeErr
}

// release closes what is open, in the order in which each needs the next.
func (s *Store) release() error {
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

// Settle waits until the files have everything that was acknowledged before.
// Files that cannot be written now are left for later and named in the error.
func (s *Store) Settle(ctx context.Context) error { return s.files.flush(ctx) }

// Ping reports whether the store within answers.
func (s *Store) Ping(ctx context.Context) error {
	if p, ok := s.Store.(interface{ Ping(context.Context) error }); ok {
		return p.Ping(ctx)
	}
	return nil
}
