package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci/memory"
)

const (
	// poolParam is a parameter of an address that limits the number of one store's connections. All
	// stores share the server's own limit.
	poolParam    = "pool_max_conns"
	defaultConns = 16
	fewestConns  = 8
	// Timeouts that keep Loci from blocking other programs for long. An address may override them.
	statementTimeout = 30 * time.Second
	connectTimeout   = 5 * time.Second
	idleTimeout      = 60 * time.Second // within a transaction
	// maxConnIdle is the time after which an unused connection is closed.
	idleConn = 5 * time.Minute
	// migrationLock is the advisory lock of migrations: "Loci" in ASCII.
	migrationLock = 1282368361
)

// IsPostgres reports whether an address is a PostgreSQL URI.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// OpenPostgres opens the store on a PostgreSQL server and creates missing tables. The address is a
// libpq URI that may also contain pool_max_conns. Any number of stores may open the same database.
// Errors never contain the address's password.
func OpenPostgres(ctx context.Context, address string, o Options) (*Store, error) {
	config, conns, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	s, err := openPostgres(ctx, config, conns, o)
	if err != nil {
		return nil, fmt.Errorf("open the database %s at %s: %w", config.Database, config.Host, explainServer(err))
	}
	return s, nil
}

func parseAddress(address string) (*pgx.ConnConfig, int, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil { // the error may quote the address
		return nil, 0, memory.Errorf(memory.Invalid, "invalid PostgreSQL address (example: postgres://user:password@host:5432/database)")
	}
	conns := defaultConns
	if text, ok := config.RuntimeParams[poolParam]; ok {
		delete(config.RuntimeParams, poolParam)
		if conns, err = strconv.Atoi(text); err != nil || conns < fewestConns {
			return nil, 0, memory.Errorf(memory.Invalid, "%s: invalid number %q; the minimum is %d", poolParam, text, fewestConns)
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	for name, value := range map[string]string{
		"application_name":                    "loci",
		"statement_timeout":                   strconv.FormatInt(statementTimeout.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": strconv.FormatInt(idleTimeout.Milliseconds(), 10),
	} {
		if _, ok := config.RuntimeParams[name]; !ok {
			config.RuntimeParams[name] = value
		}
	}
	return config, conns, nil
}

func openPostgres(ctx context.Context, config *pgx.ConnConfig, conns int, o Options) (*Store, error) {
	has, about, err := prepareServer(ctx, config, o.Log)
	if err != nil {
		return nil, err
	}
	s, err := connectPostgres(ctx, config, conns, o)
	if err == nil {
		s.reads.into.pgvector.Store(has)
		s.about += ", " + about
	}
	return s, err
}

// connectPostgres opens a store without checking its schema.
func connectPostgres(ctx context.Context, config *pgx.ConnConfig, conns int, o Options) (*Store, error) {
	into := &translator{}
	// A quarter of the connections write, a quarter serve Since, half read, and one more pings.
	writes, follows := conns/4, conns/4+1
	reads := conns - writes - follows
	open := func(config *pgx.ConnConfig, conns int) *sql.DB {
		db := stdlib.OpenDB(*config)
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		db.SetConnMaxIdleTime(idleConn)
		return db
	}
	toRead := config.Copy() // each transaction reads from one snapshot
	toRead.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	toRead.RuntimeParams["default_transaction_read_only"] = "on"
	w := &server{db: open(config, writes), waiting: map[memory.Owner][]*call{}, into: into, now: o.Now, log: o.Log, waited: o.Waited, failpoint: o.failpoint}
	s := &Store{commits: w, cache: &memoryCache{off: true}, release: func() error { return nil }, traceBytes: o.TraceBytes}
	s.reads, s.follows = newReader(open(toRead, reads), reads, into), newReader(open(toRead, follows), follows, into)
	s.pings = open(toRead, 1)
	s.reads.log, s.follows.log = o.Log, o.Log
	if err := s.describe(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	w.notifier = startNotifier(w.db, config, s.identity)
	return s, nil
}

// prepareServer updates the schema without a time limit; concurrent stores wait for each other. It
// returns nil and a description if pgvector is not usable.
func prepareServer(ctx context.Context, config *pgx.ConnConfig, log *slog.Logger) (has *pgvector, about string, err error) {
	patient := config.Copy()
	patient.RuntimeParams["statement_timeout"] = "0"
	db := stdlib.OpenDB(*patient)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close() //nolint:errcheck // closing the connection releases the lock
	if err := prepareSchema(ctx, db, conn, log); err != nil {
		return nil, "", err
	}
	return preparePgvector(ctx, conn)
}

func prepareSchema(ctx context.Context, db *sql.DB, conn *sql.Conn, log *slog.Logger) error {
	var version int
	if err := conn.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return err
	}
	if version < oldestServer {
		return memory.Errorf(memory.Unavailable, "the server is PostgreSQL %d; Loci needs %d or later", version/10_000, oldestServer/10_000)
	}
	var ours bool
	err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, migrationLock).Scan(&ours)
	if err == nil && !ours {
		cmp.Or(log, noLog).Info("waiting for another Loci server to update the database schema")
		_, err = conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock)
	}
	if err != nil {
		return fmt.Errorf("wait for another server to update the schema: %w", err)
	}
	return migrate(ctx, db, goose.DialectPostgres, "postgres", postgresSchema, log)
}

// readServerInfo reads the values of [Store.Description] and [Store.Identity].
func (s *Store) describe(ctx context.Context) error {
	version, err := queryOne[string](ctx, s.reads, `SELECT current_setting('server_version')`)
	if err == nil {
		s.identity, err = queryOne[string](ctx, s.reads, `SELECT md5(current_database() || 'goose_db_version'::regclass::oid || min(tstamp)) FROM goose_db_version`)
	}
	if err != nil {
		return fmt.Errorf("read the server's version: %w", err)
	}
	s.about = "PostgreSQL " + version
	return nil
}

// Description returns the versions of the server and of pgvector, for a log; "" with SQLite.
func (s *Store) About() string { return s.about }

// Identity identifies the PostgreSQL database: it is equal for all stores on the database, and
// different for a new database at the same address. It is "" with SQLite.
func (s *Store) Identity() string { return s.identity }

// minServerVersion is the oldest supported server_version_num: PostgreSQL 13.
const oldestServer = 130_000
