package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// sqlitePrefix begins the address of a database file.
const sqlitePrefix = "sqlite:"

// lockWait is how long a copy waits for those who write to what it copies.
const lockWait = "5s"

// side is a database that is copied, or copied to, on one connection.
type side struct {
	conn     *session
	shown    string // its address, without what signs in
	identity string // of the database
	closing  []func() error
}

// openSide brings the schema up to date and keeps others from writing: from a source all,
// from a target other copies. Of a source what is read was there at one moment.
func openSide(ctx context.Context, address string, source bool) (_ *side, err error) {
	s := &side{}
	defer func() {
		if err != nil {
			err = errors.Join(explainServer(err), s.close())
		}
	}()
	path, isFile := strings.CutPrefix(address, sqlitePrefix)
	switch {
	case isFile && path != "":
		return s, s.openFile(ctx, path, source)
	case IsPostgres(address):
		return s, s.openServer(ctx, address, source)
	}
	return nil, memory.Errorf(memory.Invalid, "it is not an address of a database; valid: sqlite:PATH, postgres://user:password@host:5432/database")
}

func (s *side) openFile(ctx context.Context, path string, source bool) error {
	s.shown = sqlitePrefix + path
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); source && errors.Is(err, fs.ErrNotExist) {
		return memory.Errorf(memory.NotFound, "there is no database at %s", path)
	}
	store, err := OpenSQLite(ctx, path, Options{}) // makes it, or brings it up to date
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	release, err := filelock.Take(path+".lock", "has it open; stop it first")
	if err != nil {
		return err
	}
	s.closing = append(s.closing, release)
	options := fmt.Sprintf("_pragma=cache_size(-%d)&_pragma=synchronous(full)&_pragma=temp_store(memory)", 4*writeCache)
	if source {
		options += "&_pragma=query_only(1)"
	}
	db, err := sql.Open("sqlite", dsn(path, options))
	if err != nil {
		return err
	}
	s.closing = append(s.closing, db.Close)
	conn, err := db.Conn(ctx)
	if err != nil {
		return explain(err)
	}
	s.conn = &session{conn: conn, kept: map[string]*sql.Stmt{}}
	var made string
	if err := conn.QueryRowContext(ctx, `SELECT CAST(min(tstamp) AS TEXT) FROM goose_db_version`).Scan(&made); err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	s.identity = path + " of " + made
	return nil
}

func (s *side) openServer(ctx context.Context, address string, source bool) error {
	config, _, err := parseAddress(address)
	if err != nil {
		return err
	}
	s.shown = "postgres://" + config.Host + "/" + config.Database
	store, err := OpenPostgres(ctx, address, Options{})
	if err != nil {
		return err
	}
	s.identity = store.Identity()
	if err := store.Close(); err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	s.closing = append(s.closing, db.Close)
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	s.conn = &session{conn: conn, into: &translator{}}
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		if _, err := conn.ExecContext(ctx, `SET `+name+` = 0`); err != nil {
			return err
		}
	}
	if source {
		return s.keepWritersOff(ctx)
	}
	var mine bool
	err = conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1, hashtext(current_schema()))`, migrationLock).Scan(&mine)
	if err == nil && !mine {
		err = memory.Errorf(memory.Conflict, "somebody else copies into %s", s.shown)
	}
	return err
}

// keepWritersOff begins a transaction that holds every table and ends with the
// connection. Others may read.
func (s *side) keepWritersOff(ctx context.Context) error {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	for _, statement := range []string{
		`SET lock_timeout = '` + lockWait + `'`,
		`BEGIN ISOLATION LEVEL REPEATABLE READ`,
		`LOCK TABLE ` + strings.Join(names, ", ") + ` IN EXCLUSIVE MODE`,
	} {
		if _, err := s.conn.conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("hold off those who write to %s; stop its servers: %w", s.shown, err)
		}
	}
	return nil
}

func (s *side) close() error {
	if s.conn != nil {
		s.conn.drop() // with its locks, settings and transaction
	}
	var errs []error
	for i := len(s.closing) - 1; i >= 0; i-- {
		errs = append(errs, s.closing[i]())
	}
	return errors.Join(errs...)
}

// within runs do in a transaction.
func (s *side) within(ctx context.Context, do func() error) error {
	begin := "BEGIN IMMEDIATE"
	if s.conn.into != nil {
		begin = "BEGIN"
	}
	if _, err := s.conn.exec(ctx, begin); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := do()
	if err == nil {
		_, err = s.conn.exec(ctx, "COMMIT")
	}
	if err != nil {
		s.conn.rollback(ctx)
		return s.explained(err)
	}
	return nil
}

func (s *side) explained(err error) error {
	if s.conn.into == nil {
		return explain(err)
	}
	return explainServer(err)
}

// marked reports whether a copy to this side was begun and is not done.
func (s *side) marked(ctx context.Context) (is bool, err error) {
	rows, err := s.conn.query(ctx, markQuery(s.conn.into))
	return is, only(rows, err, &is)
}

// finish takes the mark away. A server learns what it has been given.
func (s *side) finish(ctx context.Context) error {
	if _, err := s.conn.exec(ctx, `DROP TABLE `+copyMark); err != nil {
		return fmt.Errorf("take the mark away: %w", s.explained(err))
	}
	if s.conn.into == nil {
		return nil
	}
	for _, t := range tables {
		if _, err := s.conn.exec(ctx, `ANALYZE `+t.name); err != nil {
			return fmt.Errorf("analyze %s: %w", t.name, err)
		}
	}
	return nil
}

// insert writes rows into a table until next returns none.
func (s *side) insert(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	if s.conn.into != nil {
		return s.insertAll(ctx, table, columns, next)
	}
	statement := `INSERT INTO ` + table + ` (` + quoted(columns) + `) VALUES (?` + strings.Repeat(", ?", len(columns)-1) + `)`
	for {
		values, err := next()
		if err != nil || values == nil {
			return err
		}
		if _, err := s.conn.exec(ctx, statement, values...); err != nil {
			return err
		}
	}
}

// insertAll is insert as a server takes many rows soonest.
func (s *side) insertAll(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	values, err := next() // mostly there is nothing
	if err != nil || values == nil {
		return err
	}
	isBool := map[int]bool{}
	for i, name := range columns {
		isBool[i] = name == "pinned" || name == "core_never" || name == "no_learn" || name == "history"
	}
	return raw(s.conn, func(c *pgx.Conn) error {
		_, err := c.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
			row, err := values, error(nil)
			if values = nil; row == nil {
				row, err = next()
			}
			if row == nil || err != nil {
				return nil, err
			}
			for i, v := range row {
				switch v := v.(type) {
				case string:
					row[i] = escape(v)
				case int64:
					if isBool[i] {
						row[i] = v != 0
					}
				}
			}
			return row, nil
		}))
		return err
	})
}

func quoted(columns []string) string { return `"` + strings.Join(columns, `", "`) + `"` }
