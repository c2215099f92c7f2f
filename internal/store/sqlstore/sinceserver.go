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

// pullFromServer is pull on a server. The snapshot is taken, looked at and ended in one
// way there; only of who has more than fits into a page of a table it is taken anew and
// kept for the next pages.
func (s *Store) pullFromServer(ctx context.Context, owner memory.Owner, p pulling) (version int64, err error) {
	err = s.follows.look(ctx, owner, func(v *view) error {
		f := first{pages: make([][]pulled, len(p.of))}
		defer func() {
			if !f.ended {
				v.conn.rollback(ctx)
			}
		}()
		if err := v.first(&f, p, true); err != nil {
			return err
		}
		if f.more() {
			f.ended = false
			if err := v.first(&f, p, false); err != nil {
				return err
			}
		}
		version = f.version
		if err := goesOn(owner, p.after, f.horizon, version); err != nil {
			return err
		}
		var streams []*stream
		for i, from := range p.of {
			s := &stream{from: from, next: v.paged(from, p, f.pages[i], len(f.pages[i]) < followPage)}
			if err := s.advance(); err != nil {
				return err
			}
			streams = append(streams, s)
		}
		return v.merge(streams, p)
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// first is what one way to the server brings of what Since reads.
type first struct {
	version, horizon int64
	pages            [][]pulled // of each table
	most             int        // rows that one question brought
	ended            bool       // the snapshot is no more
}

// more reports whether a table may have more than its page.
func (f *first) more() bool { return f.most >= followPage }

// vectorsOf asks for an owner's vectors of a model. To find each by its memory takes a
// server several times as long.
const vectorsOf = `SELECT memory, data FROM vectors WHERE owner = ?1 AND model = ?2`

// first takes a snapshot and reads a page of each table. If all of it is wanted, the
// snapshot is ended at once, and vectors are read apart where everything is read.
func (v *view) first(f *first, p pulling, all bool) error {
	into := v.conn.into
	owner := string(v.owner)
	apart := all && p.after <= 0
	b := &pgx.Batch{}
	ask := func(query string, args ...any) { b.Queue(into.text(query), into.values(args)...) }
	b.Queue(beginToRead)
	if !all {
		b.Queue(pageByPage)
	}
	ask(horizonOf, owner)
	if apart {
		ask(vectorsOf+limitOf(followPage), owner, p.model)
	}
	for _, from := range p.of {
		if apart {
			ask(from.bare()+inOrder+limitOf(followPage), owner)
			continue
		}
		ask(from.since(p.after)+inOrder+limitOf(followPage), owner, p.model, p.after)
	}
	if all {
		b.Queue("COMMIT")
	}
	return raw(v.conn, func(c *pgx.Conn) (err error) {
		sent := c.SendBatch(v.ctx, b)
		defer func() {
			if err = errors.Join(err, sent.Close()); err == nil {
				f.ended = all
			}
		}()
		if _, err := sent.Exec(); err != nil {
			return fmt.Errorf("begin to read: %w", err)
		}
		if !all {
			if _, err := sent.Exec(); err != nil {
				return fmt.Errorf("have pages planned: %w", err)
			}
		}
		f.version, f.horizon, f.most = 0, 0, 0
		err = sent.QueryRow().Scan(&f.version, &f.horizon)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("read the owner's version: %w", err)
		}
		vectors := map[string][]byte{}
		if apart {
			n, err := each(sent, into, func(row scanner) error {
				var id string
				var data []byte
				err := row.Scan(&id, &data)
				vectors[id] = data
				return err
			})
			if err != nil {
				return fmt.Errorf("read vectors: %w", err)
			}
			f.most = n
		}
		for i, from := range p.of {
			f.pages[i] = f.pages[i][:0]
			n, err := each(sent, into, func(row scanner) error {
				k, err := from.pulled(v.owner, row)
				if apart {
					k.vector = vectors[k.ID]
				}
				f.pages[i] = append(f.pages[i], k)
				return err
			})
			if err != nil {
				return fmt.Errorf("follow %s: %w", from.table, err)
			}
			f.most = max(f.most, n)
		}
		return nil
	})
}

// bare is since from 0 without vectors: it asks of an owner (1) alone.
func (s source) bare() string {
	return `SELECT ` + s.columns + `, CAST(NULL AS bytea) FROM ` + s.table + ` WHERE owner = ?1 AND status = 'active'`
}

// each calls with with each row of a batch's next answer, and returns how many there were.
func each(sent pgx.BatchResults, into *translator, with func(scanner) error) (n int, err error) {
	rows, err := sent.Query()
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		if err := with(restored{rows, into}); err != nil {
			return n, err
		}
	}
	rows.Close()
	return n, rows.Err()
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
