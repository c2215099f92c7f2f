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
	Log *slog.Logger     // is told of damage, of what a server fails in, which users are not, and where a write panicked; nil: nobody is

	// Rebuilt says that the caller fills a database that is gone: an empty one is not refused.
	Rebuilt bool

	// TraceBytes is how many bytes of traces an owner has at most, besides the number that
	// SaveTraces is told: the oldest go first. 0: any number.
	TraceBytes int64

	Waited func(time.Duration) // called with how long each write waited for its turn; nil: nobody is told

	// failpoint is called at the named points of a commit; tests kill there.
	failpoint func(point string)
}

// Store is a [memory.Store] in an SQL database.
type Store struct {
	commits committer
	reads   *reader
	// follows is for Since alone: its connections stay busy while the caller's
	// yield runs, which may itself read.
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

// committer is how a dialect writes.
type committer interface {
	// write runs do in a transaction that has been committed when write returns nil. It
	// may run do again, if what it did before is undone. The owner is whom do writes
	// for, "" if it is for none or many: nobody else writes for the owner meanwhile.
	write(ctx context.Context, owner memory.Owner, do func(*tx) error) error
	// claim leases the next job, the zero Job if none is due.
	claim(ctx context.Context, kinds listed, lease time.Duration) (memory.Job, error)
	// erasing waits until no copy is being made of the database, of which none begins before
	// done is called. It is an error if the disk has no room for an erasure.
	erasing(ctx context.Context) (done func(), err error)
	close() error
}

// Ping reports whether the database answers and no damage of it is known.
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

// Close waits for what is under way and releases the database.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed = errors.Join(s.pings.Close(), s.reads.close(), s.follows.close(), s.commits.close(), s.release())
	})
	return s.closed
}

// write runs do in a transaction that has been committed when write returns nil: see
// [committer].
func (s *Store) write(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	return s.commits.write(ctx, owner, do)
}

// writeFor is write for an owner, whom it checks.
func (s *Store) writeFor(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, owner, do)
}

// writeRun is writeFor for what has a receipt.
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

// noRows reports whether err only says that there was nothing.
func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// wrap is nil for a nil error.
func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
