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

// Options configures a store. Zero fields select the defaults.
type Options struct {
	Now func() time.Time // nil uses this machine's clock with SQLite, the server's clock with PostgreSQL
	Log *slog.Logger     // receives damage, panics and the details of server failures; nil disables it

	// AllowEmpty allows an empty SQLite file although an earlier one was lost: the caller rebuilds the data.
	AllowEmpty bool

	// TraceBytes limits the size of an owner's traces in bytes; the oldest traces are removed. 0 means
	// no limit in bytes.
	TraceBytes int64

	ObserveWait func(time.Duration) // called with the queueing time of each write; may be nil

	// failpoint is called at named points of a commit; a test can crash the process there.
	failpoint func(point string)
}

// Store is a [memory.Store] in an SQL database.
type Store struct {
	committer committer
	reader    *reader
	// sinceReader serves only Since, whose yield may need a connection of reader while Since uses its own.
	sinceReader *reader
	pingDB      *sql.DB // has one connection, so that a ping never waits for reads
	cache       *memoryCache
	unlockFile  func() error

	path                  string  // path of the SQLite file
	damage                *damage // nil with PostgreSQL
	description, identity string  // of the PostgreSQL server; empty with SQLite

	traceBytes int64 // maximum size of an owner's traces: see Options.TraceBytes

	closeOnce sync.Once
	closeErr  error
}

// committer runs write transactions. The implementations are [writer] and [server].
type committer interface {
	// write runs do in a transaction that is committed when write returns nil. It may roll back the
	// transaction and call do again. Writes of one owner are serial; owner is "" for none or several.
	write(ctx context.Context, owner memory.Owner, do func(*tx) error) error
	// claim leases the next job, or returns the zero Job if none is due.
	claim(ctx context.Context, kinds textList, duration time.Duration) (memory.Job, error)
	// beginErasure waits until no copy of the database is in progress, and blocks new copies until end
	// is called. It returns an error if the disk has no room for an erasure.
	beginErasure(ctx context.Context) (end func(), err error)
	close() error
}

// Ping returns an error if the database does not answer or is damaged.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.damage.err(); err != nil {
		return err
	}
	return wrap("ping the database", hideDetails(s.reader.log, explainServer(s.pingDB.PingContext(ctx))))
}

// Pools returns the usage of the connection pools.
func (s *Store) Pools() []obs.Pool {
	pools := []obs.Pool{s.reader.poolUsage("read"), s.sinceReader.poolUsage("follow")}
	if p, ok := s.committer.(*server); ok {
		stats := p.db.Stats()
		pools = append(pools, obs.Pool{Name: "write", Busy: stats.InUse, Size: stats.MaxOpenConnections})
	}
	return pools
}

// Close waits for operations in progress and releases the database.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = errors.Join(s.pingDB.Close(), s.reader.close(), s.sinceReader.close(), s.committer.close(), s.unlockFile())
	})
	return s.closeErr
}

// write runs do in a transaction: see [committer].
func (s *Store) write(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	return s.committer.write(ctx, owner, do)
}

// writeForOwner is write after a check that the owner is valid.
func (s *Store) writeForOwner(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, owner, do)
}

// writeRun is writeForOwner for a function that returns a receipt.
func (s *Store) writeRun(ctx context.Context, owner memory.Owner, do func(*tx) (memory.Receipt, error)) (receipt memory.Receipt, err error) {
	err = s.writeForOwner(ctx, owner, func(t *tx) (err error) {
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
		return memory.Errorf(memory.Invalid, "invalid owner %q", owner)
	}
	return nil
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// wrap adds the failed action to err; a nil error remains nil.
func wrap(action string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}
