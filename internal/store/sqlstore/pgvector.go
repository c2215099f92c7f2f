package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci/memory"
)

// A server that has pgvector can search for an owner whose index would take too much of
// a replica's memory. For each such owner and embedder the tables near… are a copy of
// what recall may see, with the terms of its words and its vector as a halfvec, that
// follows the owner's version as the resident index does: a search brings it up to date
// first. Nothing waits for it that is written. The copy is built in steps, each of which
// is kept, and gets its indexes when it is whole.

const (
	// leastPgvector is the first that goes on looking in an index until enough is found
	// that a filter lets pass (hnsw.iterative_scan).
	leastPgvector = "0.8"
	// maxNearDims is how long a halfvec may be in an index.
	maxNearDims = 4000
	// nearStep is how many memories a build copies at a time, or as many more as one write
	// has, and leastStep how many the first step of one that catches up does; each that
	// follows takes twice as many.
	nearStep  = 2000
	leastStep = 100
	// restingShare: of how many memories one may lack a vector for those of the others to
	// be used.
	restingShare = 100
	// buildMemory is what a server may use to build an index, in KiB, unless it is set to
	// use more.
	buildMemory = 256 << 10
)

// ownConns is how many connections builds and those who catch up have for themselves, so
// that nothing else waits for them.
const ownConns = 4

// pgvector is what a server has of it, and who works with it.
type pgvector struct {
	version string
	schema  string // that has its types and operators
	own     *sql.DB
	builds  sync.Mutex // held by the one build of this process
}

// within lets the types and operators be found by statements until the transaction ends.
const within = `SELECT set_config('search_path', current_setting('search_path') || ', ' || quote_ident(?), ?)`

// UsePgvector looks whether the server has pgvector, so that it can search by itself. It
// makes nothing. about says what there is, for a log. It is called before anything is
// searched, if at all.
func (s *Store) UsePgvector(ctx context.Context) (about string, err error) {
	p, ok := s.commits.(*server)
	if !ok {
		return "this store has no pgvector", nil
	}
	var has pgvector
	rows, err := s.reads.ask(ctx, `SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`)
	if err := only(rows, err, &has.version, &has.schema); noRows(err) {
		return "the database has no pgvector", nil
	} else if err != nil {
		return "", fmt.Errorf("ask for pgvector: %w", withhold(p.log, explainServer(err)))
	}
	if olderThan(has.version, leastPgvector) {
		return "the database's pgvector " + has.version + " is too old to be used: that takes " + leastPgvector, nil
	}
	has.own = stdlib.OpenDB(*p.notifier.config)
	has.own.SetMaxOpenConns(ownConns)
	has.own.SetMaxIdleConns(1)
	has.own.SetConnMaxIdleTime(idleConn)
	s.pgvector, s.release = &has, has.own.Close
	return "pgvector " + has.version, nil
}

// hasNear asks whether all of near.sql is there, and whether there is a table near that is
// of no use.
const hasNear = `SELECT to_regclass('near_state') IS NOT NULL AND to_regclass('near_terms') IS NOT NULL AND to_regclass('near_kind') IS NOT NULL
		AND to_regclass('near_project') IS NOT NULL AND to_regclass('near_thread') IS NOT NULL AND n.useful,
	to_regclass('near') IS NOT NULL AND NOT n.useful
	FROM (` + isUseful + `) AS n (useful)`

// isUseful asks whether near has its vectors, which go with the extension, and lengths,
// which the first copies were made without.
const isUseful = `SELECT count(*) = 2 FROM pg_attribute WHERE attrelid = to_regclass('near') AND attname IN ('vector', 'length') AND NOT attisdropped`

// prepareNear makes the tables that it needs, if they are not there, and waits for nobody
// long.
func (s *Store) prepareNear(ctx context.Context) error {
	return s.onServer(ctx, func(c *session) error {
		var done, broken bool
		look := func() error {
			rows, err := c.query(ctx, hasNear)
			return only(rows, err, &done, &broken)
		}
		if err := look(); err != nil || done {
			return err
		}
		tables, err := migrations.ReadFile("migrations/pgvector/near.sql")
		if err != nil {
			return err
		}
		for _, step := range []statement{
			{`SELECT set_config('lock_timeout', '2s', true), pg_advisory_xact_lock(?)`, []any{migrationLock}},
			{within, []any{s.pgvector.schema, true}},
		} {
			if _, err := c.exec(ctx, step.text, step.args...); err != nil {
				return err
			}
		}
		if err := look(); err != nil || done { // another server did meanwhile
			return err
		}
		if broken {
			if _, err := c.exec(ctx, `DROP TABLE IF EXISTS near, near_terms, near_state`); err != nil {
				return err
			}
		}
		_, err = c.exec(ctx, string(tables))
		return err
	})
}

// olderThan compares the first two numbers of two versions.
func olderThan(version, least string) bool {
	number := func(s string, i int) int {
		parts := strings.Split(s, ".")
		if i >= len(parts) {
			return 0
		}
		n, _ := strconv.Atoi(parts[i]) // what is not a number is of no release
		return n
	}
	for i := range 2 {
		if a, b := number(version, i), number(least, i); a != b {
			return a < b
		}
	}
	return false
}

// apart returns a connection that is nobody else's.
func (s *Store) apart(ctx context.Context) (*session, error) {
	conn, err := s.pgvector.own.Conn(ctx)
	return &session{conn: conn, into: s.reads.into}, err
}

// onServer runs do in a transaction that holds no owner's row.
func (s *Store) onServer(ctx context.Context, do func(*session) error) error {
	c, err := s.apart(ctx)
	if err != nil {
		return err
	}
	defer c.release()
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := do(c); err != nil {
		c.rollback(ctx)
		return err
	}
	if _, err := c.exec(ctx, "COMMIT"); err != nil {
		c.rollback(ctx)
		return err
	}
	return nil
}

// Searches reports whether the server can search by itself.
func (s *Store) Searches() bool { return s.pgvector != nil }

// ReadyNear returns the owners of more memories than so many whose copy by a model is ready.
func (s *Store) ReadyNear(ctx context.Context, model string, most int) (owners []memory.Owner, err error) {
	rows, err := s.reads.ask(ctx, `SELECT owner FROM near_state WHERE model = ? AND ready AND memories > ?`, model, most)
	owners, err = collect(rows, err, func(row scanner) (owner memory.Owner, err error) {
		err = row.Scan((*string)(&owner))
		return owner, err
	})
	if missing(err) { // no copy was begun yet
		return nil, nil
	}
	return owners, wrap("ask whom the server searches for", explainServer(err))
}
