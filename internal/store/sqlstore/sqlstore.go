package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Store = (*Store)(nil)

// Options are the tunables of a store. The zero value is the default.
type Options struct {
	Now func() time.Time // nil: the clock of this machine with SQLite, of the server with PostgreSQL
	Log *slog.Logger     // receives damage, failures of a server, which users do not see, and panics; nil: none

	// Rebuilt allows an empty database in place of a lost one: the caller fills it.
	Rebuilt bool

	// TraceBytes bounds the bytes of an owner's traces, in addition to the number that SaveTraces
	// keeps: the oldest are removed. 0: unlimited.
	TraceBytes int64

	Waited func(time.Duration) // called with how long each write waited for its turn; nil: not called

	// failpoint is called at the named points of a commit; tests crash there.
	failpoint func(point string)
}

// Store is a [memory.Store] in an SQL database.
type Store struct {
	commits committer
	reads   *reader
	// follows is for Since alone: its connections are busy while yield runs, which may itself
	// read.
	follows *reader
	pings   *sql.DB // one connection, so that a ping waits for nobody's reads
	cache   *memoryCache
	release func() error

	path            string  // of a file
	damage          *damage // of a file
	about, identity string  // of a server

	traceBytes int64 // see Options

	closing sync.Once
	closed  error
}

// committer is a dialect's way of writing.
type committer interface {
	// write runs do in a transaction that is committed when write returns nil. It may repeat do
	// after undoing it. The owner is the one that do writes for, "" for none or several: there are
	// no concurrent writes for the owner.
	write(ctx context.Context, owner memory.Owner, do func(*tx) error) error
	// claim leases the next job, the zero Job if none is due.
	claim(ctx context.Context, kinds listed, lease time.Duration) (memory.Job, error)
	// erasing waits until no copy of the database is being made; none starts before done is
	// called. It returns an error if the disk has no room for an erasure.
	erasing(ctx context.Context) (done func(), err error)
	close() error
}

// Ping returns an error if the database does not answer or damage of it is recorded.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.damage.err(); err != nil {
		return err
	}
	return wrap("ping the database", withhold(s.reads.log, explainServer(s.pings.PingContext(ctx))))
}

// Pools returns how busy the connections are.
func (s *Store) Pools() []obs.Pool {
	pools := []obs.Pool{s.reads.pool("read"), s.follows.pool("follow")}
	if p, ok := s.commits.(*server); ok {
		stats := p.db.Stats()
		pools = append(pools, obs.Pool{Name: "write", Busy: stats.InUse, Size: stats.MaxOpenConnections})
	}
	return pools
}

// Close waits for operations in progress and releases the database.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed = errors.Join(s.pings.Close(), s.reads.close(), s.follows.close(), s.commits.close(), s.release())
	})
	return s.closed
}

// write runs do in a transaction that is committed when write returns nil: see [committer].
func (s *Store) write(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	return s.commits.write(ctx, owner, do)
}

// writeFor is write for an owner, which it checks.
func (s *Store) writeFor(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, owner, do)
}

// writeRun is writeFor with a receipt.
func (s *Store) writeRun(ctx context.Context, owner memory.Owner, do func(*tx) (memory.Receipt, error)) (receipt memory.Receipt, err error) {
	err = s.writeFor(ctx, owner, func(t *tx) (err error) {
		receipt, err = do(t)
		return err
	})
	if err != nil {
		return memory.Receipt{}, err
	}
	return receipt, nil
}

func checkOwner(owner memory.Owner) error {
	if !owner.Valid() {
		return memory.Errorf(memory.Invalid, "%q is not a valid owner", owner)
	}
	return nil
}

// noRows reports whether err only means that there was no row.
func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// wrap is nil for a nil error.
func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
