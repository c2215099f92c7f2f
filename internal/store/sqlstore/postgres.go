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
	// poolParam is a parameter of an address: the maximum number of connections of one store. The
	// server's own limit is for all stores together.
	poolParam    = "pool_max_conns"
	defaultConns = 16
	minConns     = 8
	// These timeouts keep Loci from blocking other programs for long. An address may override them.
	statementTimeout = 30 * time.Second
	connectTimeout   = 5 * time.Second
	idleTimeout      = 60 * time.Second // within a transaction
	// maxConnIdle is the time after which an unused connection is closed.
	maxConnIdle = 5 * time.Minute
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
		if conns, err = strconv.Atoi(text); err != nil || conns < minConns {
			return nil, 0, memory.Errorf(memory.Invalid, "%s: invalid number %q; the minimum is %d", poolParam, text, minConns)
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

func openPostgres(ctx context.Context, config *pgx.ConnConfig, maxConns int, o Options) (*Store, error) {
	extension, pgvectorText, err := prepareServer(ctx, config, o.Log)
	if err != nil {
		return nil, err
	}
	s, err := connectPostgres(ctx, config, maxConns, o)
	if err == nil {
		s.reader.translator.pgvector.Store(extension)
		s.description += ", " + pgvectorText
	}
	return s, err
}

// connectPostgres opens a store without checking its schema.
func connectPostgres(ctx context.Context, config *pgx.ConnConfig, maxConns int, o Options) (*Store, error) {
	sqlTranslator := &translator{}
	// A quarter of the connections write, a quarter serve Since, half read, and one more pings.
	writes, follows := maxConns/4, maxConns/4+1
	reads := maxConns - writes - follows
	open := func(config *pgx.ConnConfig, maxConns int) *sql.DB {
		db := stdlib.OpenDB(*config)
		db.SetMaxOpenConns(maxConns)
		db.SetMaxIdleConns(maxConns)
		db.SetConnMaxIdleTime(maxConnIdle)
		return db
	}
	readConfig := config.Copy() // each transaction reads from one snapshot
	readConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	readConfig.RuntimeParams["default_transaction_read_only"] = "on"
	w := &server{db: open(config, writes), waitingCalls: map[memory.Owner][]*call{}, translator: sqlTranslator, now: o.Now, log: o.Log, observeWait: o.ObserveWait, failpoint: o.failpoint}
	s := &Store{committer: w, cache: &memoryCache{disabled: true}, unlockFile: func() error { return nil }, traceBytes: o.TraceBytes}
	s.reader, s.sinceReader = newReader(open(readConfig, reads), reads, sqlTranslator), newReader(open(readConfig, follows), follows, sqlTranslator)
	s.pingDB = open(readConfig, 1)
	s.reader.log, s.sinceReader.log = o.Log, o.Log
	if err := s.readServerInfo(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	w.notifier = startNotifier(w.db, config, s.identity)
	return s, nil
}

// prepareServer updates the schema without a time limit; concurrent stores wait for each other. If
// pgvector is not usable, extension is nil, and description says why.
func prepareServer(ctx context.Context, config *pgx.ConnConfig, log *slog.Logger) (extension *pgvector, description string, err error) {
	patientConfig := config.Copy()
	patientConfig.RuntimeParams["statement_timeout"] = "0"
	db := stdlib.OpenDB(*patientConfig)
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
	if version < minServerVersion {
		return memory.Errorf(memory.Unavailable, "the server is PostgreSQL %d; Loci needs %d or later", version/10_000, minServerVersion/10_000)
	}
	var isLocked bool
	err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, migrationLock).Scan(&isLocked)
	if err == nil && !isLocked {
		cmp.Or(log, discardLog).Info("waiting for another Loci server to update the database schema")
		_, err = conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock)
	}
	if err != nil {
		return fmt.Errorf("wait for another server to update the schema: %w", err)
	}
	return migrate(ctx, db, goose.DialectPostgres, "postgres", postgresSchema, log)
}

// readServerInfo reads the values of [Store.Description] and [Store.Identity].
func (s *Store) readServerInfo(ctx context.Context) error {
	version, err := queryOne[string](ctx, s.reader, `SELECT current_setting('server_version')`)
	if err == nil {
		s.identity, err = queryOne[string](ctx, s.reader, `SELECT md5(current_database() || 'goose_db_version'::regclass::oid || min(tstamp)) FROM goose_db_version`)
	}
	if err != nil {
		return fmt.Errorf("read the server's version: %w", err)
	}
	s.description = "PostgreSQL " + version
	return nil
}

// Description returns the versions of the server and of pgvector, for a log; "" with SQLite.
func (s *Store) Description() string { return s.description }

// Identity identifies the PostgreSQL database: it is equal for all stores on the database, and
// different for a new database at the same address. It is "" with SQLite.
func (s *Store) Identity() string { return s.identity }

// minServerVersion is the oldest supported server_version_num: PostgreSQL 13.
const minServerVersion = 130_000
