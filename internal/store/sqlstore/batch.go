package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/memory"
)

// statement is an SQL statement with its arguments. scan, if not nil, reads each returned row.
type statement struct {
	query string
	args  []any
	scan  func(row scanner) error
}

// newExecStatement returns a statement whose result has no rows.
func newExecStatement(query string, args ...any) statement {
	return statement{query: query, args: args}
}

// runBatch runs statements in order, with PostgreSQL in one round trip. It stops at the first error.
func (s *session) runBatch(ctx context.Context, statements ...statement) error {
	if s.translator != nil {
		return withDriverConn(s, func(c *pgx.Conn) error { return s.translator.runBatch(ctx, c, statements) })
	}
	for _, a := range statements {
		rows, err := s.query(ctx, a.query, a.args...)
		if err := eachRow(rows, err, a.scan); err != nil {
			return err
		}
	}
	return nil
}

func (t *translator) runBatch(ctx context.Context, c *pgx.Conn, statements []statement) error {
	batch := &pgx.Batch{}
	for _, a := range statements {
		queued := batch.Queue(t.translateCached(a.query), t.escapeArgs(a.args)...)
		if a.scan == nil {
			continue
		}
		queued.Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := a.scan(unescapedRows{rows, t}); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return c.SendBatch(ctx, batch).Close() // Close calls each scan function
}

// unescapedRows are a driver's rows whose Scan restores U+0000, which [escape] replaced.
type unescapedRows struct {
	pgx.Rows
	translator *translator
}

func (r unescapedRows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	if err == nil {
		r.translator.unescapeValues(dest)
	}
	return err
}

// readBatch runs statements in one snapshot, with PostgreSQL in one round trip. After a lost connection
// it calls makeStatements again, so makeStatements must clear the results of the earlier call.
func (r *reader) readBatch(ctx context.Context, owner memory.Owner, makeStatements func(*view) ([]statement, error)) error {
	read := r.withSnapshot
	if r.translator != nil {
		read = r.withConnection
	}
	return read(ctx, owner, func(v *view) error {
		statements, err := makeStatements(v)
		if err != nil {
			return err
		}
		return v.session.runBatch(ctx, statements...)
	})
}
