package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/memory"
)

// statement is an SQL statement with its arguments. scan, if not nil, reads each returned row.
type ask struct {
	text string
	args []any
	read func(row scanner) error
}

// command returns a statement whose result has no rows.
func say(text string, args ...any) ask { return ask{text: text, args: args} }

// runBatch runs statements in order, on a server in one round trip. It stops at the first error.
func (s *session) ask(ctx context.Context, all ...ask) error {
	if s.into != nil {
		return raw(s, func(c *pgx.Conn) error { return s.into.ask(ctx, c, all) })
	}
	for _, a := range all {
		rows, err := s.query(ctx, a.text, a.args...)
		if err := eachRow(rows, err, a.read); err != nil {
			return err
		}
	}
	return nil
}

func (t *translator) ask(ctx context.Context, c *pgx.Conn, all []ask) error {
	b := &pgx.Batch{}
	for _, a := range all {
		queued := b.Queue(t.text(a.text), t.values(a.args)...)
		if a.read == nil {
			continue
		}
		queued.Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := a.read(restored{rows, t}); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return c.SendBatch(ctx, b).Close() // Close calls each scan function
}

// unescapedRows restores U+0000 in the values of the driver's rows.
type restored struct {
	pgx.Rows
	from *translator
}

func (r restored) Scan(into ...any) error {
	err := r.Rows.Scan(into...)
	if err == nil {
		r.from.restore(into)
	}
	return err
}

// readBatch runs statements in one snapshot, on a server in one round trip. After a lost
// connection it calls makeStatements again, which must therefore clear earlier results.
func (r *reader) together(ctx context.Context, owner memory.Owner, asking func(*view) ([]ask, error)) error {
	see := r.see
	if r.into != nil {
		see = r.look
	}
	return see(ctx, owner, func(v *view) error {
		all, err := asking(v)
		if err != nil {
			return err
		}
		return v.conn.ask(ctx, all...)
	})
}
