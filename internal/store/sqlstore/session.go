package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// session is a connection with its prepared statements. conn is nil before the session's first use, and
// after the connection was closed.
type session struct {
	conn       *sql.Conn
	prepared   map[string]*sql.Stmt
	translator *translator // translates statements for PostgreSQL; nil with SQLite
}

// maxStatements limits a connection's prepared statements; queries have one for each set of filters.
const maxStatements = 256

// prepare returns the prepared statement of query. If cached is false, the session has too many
// statements, and the caller must close this statement.
func (s *session) prepare(ctx context.Context, query string) (_ *sql.Stmt, cached bool, err error) {
	if known, ok := s.prepared[query]; ok {
		return known, true, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, false, fmt.Errorf("prepare %q: %w", query, err)
	}
	if len(s.prepared) >= maxStatements {
		return stmt, false, nil
	}
	s.prepared[query] = stmt
	return stmt, true, nil
}

func (s *session) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s.translator != nil { // a server's driver caches statements itself
		return s.conn.ExecContext(ctx, s.translator.translateCached(query), s.translator.escapeArgs(args)...)
	}
	stmt, cached, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if !cached {
		defer stmt.Close() //nolint:errcheck // the statement was executed
	}
	return stmt.ExecContext(ctx, args...)
}

// query runs a statement that returns rows, which must be closed before the next statement.
func (s *session) query(ctx context.Context, query string, args ...any) (rows, error) {
	if s.translator != nil {
		found, err := s.conn.QueryContext(ctx, s.translator.translateCached(query), s.translator.escapeArgs(args)...)
		return rows{found, s.translator}, err
	}
	stmt, cached, err := s.prepare(ctx, query)
	if err != nil {
		return rows{}, err
	}
	if !cached {
		defer stmt.Close() //nolint:errcheck // the rows keep the statement open until they are closed
	}
	found, err := stmt.QueryContext(ctx, args...)
	return rows{Rows: found}, err
}

// closeConn closes the connection; the session's next use opens another.
func (s *session) closeConn() {
	if s.conn == nil {
		return
	}
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool close the connection
	_ = s.conn.Close()
	s.conn, s.prepared = nil, nil
}

// rollback rolls back the transaction, unless it has ended.
func (s *session) rollback(ctx context.Context) {
	if s.conn == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if s.translator != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, rollbackTimeout)
		defer stop()
	}
	if _, err := s.exec(ctx, "ROLLBACK"); err != nil {
		s.closeConn()
	}
}

// release returns the connection to the pool. Only for PostgreSQL, whose driver caches statements.
func (s *session) release() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// rows are the rows of a query. Scan restores U+0000 in texts from PostgreSQL, where it is escaped.
type rows struct {
	*sql.Rows
	translator *translator // unescapes the values; nil with SQLite
}

// Scan reads the row's values.
func (r rows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	switch {
	case err != nil && r.Err() == nil: // only this row is invalid; later rows can still be read
		return newUnreadableRowError(err)
	case err == nil && r.translator != nil:
		r.translator.unescapeValues(dest)
	}
	return err
}

// eachRow calls scan for each row and closes the rows. If the query's error err is set, it returns err.
func eachRow(rows rows, err error, scan func(scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	row := scanner(rows)
	for rows.Next() {
		if err := scan(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect is eachRow for a scan that returns a value. It returns the values of all rows.
func collect[T any](rows rows, err error, scan func(scanner) (T, error)) (results []T, _ error) {
	err = eachRow(rows, err, func(row scanner) error {
		result, err := scan(row)
		results = append(results, result)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// scanText reads a row with one text column.
func scanText[S ~string](row scanner) (S, error) {
	var text string
	err := row.Scan(&text)
	return S(text), err
}
