package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/memory"
)

// horizonOf asks for an owner's version, and for the oldest that can be followed from.
const horizonOf = `SELECT version, horizon FROM owners WHERE owner = ?1`

// readSinceServer is readSince on a server. The snapshot is taken, looked at and ended in
// one go; only who has more than fits into a page of a table has it kept for the next pages.
func (s *Store) readSinceServer(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (version int64, err error) {
	err = s.follows.look(ctx, owner, func(v *view) error {
		f := first{pages: make([][]memory.Item, len(followed))}
		defer func() {
			if !f.ended {
				v.conn.rollback(ctx)
			}
		}()
		// Whoever reads all has many, mostly.
		if err := v.first(&f, model, after, after > 0); err != nil {
			return err
		}
		if f.ended && f.more() { // they came in great number
			f.ended = false
			if err := v.first(&f, model, after, false); err != nil {
				return err
			}
		}
		version = f.version
		if err := goesOn(owner, after, f.horizon, version); err != nil {
			return err
		}
		var streams []*stream
		for i, from := range followed {
			s := &stream{from: from, next: v.paged(from, model, after, f.pages[i], len(f.pages[i]) < followPage)}
			if err := s.advance(); err != nil {
				return err
			}
			streams = append(streams, s)
		}
		return v.merge(streams, after, yield)
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// first is what one way to the server brings of what Since reads.
type first struct {
	version, horizon int64
	pages            [][]memory.Item // of each of followed
	ended            bool            // the snapshot is no more
}

// more reports whether a table may have more than its page.
func (f *first) more() bool {
	for _, p := range f.pages {
		if len(p) == followPage {
			return true
		}
	}
	return false
}

// first takes a snapshot, reads what fits and, if it is told to, ends the snapshot.
func (v *view) first(f *first, model string, after int64, end bool) error {
	into := v.conn.into
	owner := string(v.owner)
	b := &pgx.Batch{}
	b.Queue(beginToRead)
	b.Queue(into.text(horizonOf), into.values([]any{owner})...)
	for _, from := range followed {
		b.Queue(into.text(from.since(after)+inOrder+limitOf(followPage)), into.values([]any{owner, model, after})...)
	}
	if end {
		b.Queue("COMMIT")
	}
	return raw(v.conn, func(c *pgx.Conn) (err error) {
		sent := c.SendBatch(v.ctx, b)
		defer func() {
			if err = errors.Join(err, sent.Close()); err == nil {
				f.ended = end
			}
		}()
		if _, err := sent.Exec(); err != nil {
			return fmt.Errorf("begin to read: %w", err)
		}
		f.version, f.horizon = 0, 0
		err = sent.QueryRow().Scan(&f.version, &f.horizon)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("read the owner's version: %w", err)
		}
		for i, from := range followed {
			rows, err := sent.Query()
			if err != nil {
				return fmt.Errorf("follow %s: %w", from.table, err)
			}
			f.pages[i] = f.pages[i][:0]
			for rows.Next() {
				item, err := from.item(v.owner, restored{rows, into})
				if err != nil {
					rows.Close()
					return err
				}
				f.pages[i] = append(f.pages[i], item)
			}
			if rows.Close(); rows.Err() != nil {
				return fmt.Errorf("follow %s: %w", from.table, rows.Err())
			}
		}
		return nil
	})
}

// restored is a row of the driver's own as it was written.
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
