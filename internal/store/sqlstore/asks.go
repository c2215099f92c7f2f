package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/memory"
)

// ask is a statement with its arguments, and the reader of each row; nil for none.
type ask struct {
	text string
	args []any
	read func(row scanner) error
}

// say returns a statement without an answer.
func say(text string, args ...any) ask { return ask{text: text, args: args} }

// ask runs statements in order, on a server in one round trip. After an error it runs no more.
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
	return c.SendBatch(ctx, b).Close() // this calls the readers
}

// restored is a row of the driver with its values restored.
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

// together answers questions from one snapshot, on a server in one round trip: that is one
// transaction. It may ask again, so asking starts with empty results each time.
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
