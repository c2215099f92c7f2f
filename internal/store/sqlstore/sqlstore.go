package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Store = (*Store)(nil)

// Options are the tunables of a store. The zero value is the default.
type Options struct {
	Now func() time.Time // nil: time.Now

	// failpoint is called at the named points of a commit; tests kill there.
	failpoint func(point string)
}

// Store is a [memory.Store] in an SQL database.
type Store struct {
	now    func() time.Time
	writer *writer
	reads  *reader
	// follows is for Since alone: its connections stay busy while the caller's
	// yield runs, which may itself read.
	follows  *reader
	versions *sql.Stmt // of versionsOf
	soonest  *sql.Stmt // of soonest
	release  func() error

	closing sync.Once
	closed  error
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.reads.db.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("ping the database: %w", err)
	}
	return nil
}

// Close waits for what is under way, writes everything into the main file and
// releases it.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed = errors.Join(s.reads.close(), s.follows.close(), s.writer.close(), s.release())
	})
	return s.closed
}

// write runs do in the writer's turn, in a transaction that has been committed
// when write returns nil.
func (s *Store) write(ctx context.Context, do func(*tx) error) error {
	return s.writer.do(ctx, do)
}

func (s *Store) time() time.Time { return memory.Time(s.now()) }

func checkOwner(owner memory.Owner) error {
	if !owner.Valid() {
		return memory.Errorf(memory.Invalid, "%q is no owner", owner)
	}
	return nil
}

// noRows reports whether err only says that there was nothing.
func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
