package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Looker = (*Store)(nil)

// Look implements [memory.Looker].
func (s *Store) Look(ctx context.Context, owner memory.Owner, l memory.Look) (memory.Seen, error) {
	if s.reads.into == nil || slices.ContainsFunc(l.Queries, func(q memory.Query) bool { return !atOnce(q) }) {
		return memory.LookAt(ctx, inTurn{s}, owner, l)
	}
	return s.lookAtServer(ctx, owner, l, true)
}

// inTurn is a store that is asked one question after the other: most answers are at hand.
type inTurn struct{ memory.Store }

// atOnce reports whether all that a list asks a server is known before it begins.
func atOnce(q memory.Query) bool { return q.Text == "" && q.At.AsOf.IsZero() }

// readBatch is one way to a server and back, on which it answers questions of one moment.
type readBatch struct {
	*view
	asks []statement
	read []func(row scanner) error // a row of the answer to each
	long bool                      // one of them is for a page of a long list
}

// ask adds a question, and what reads each row of its answer.
func (g *readBatch) ask(one statement, read func(row scanner) error) {
	g.asks, g.read = append(g.asks, one), append(g.read, read)
}

// send asks, and reads the answers.
func (g *readBatch) send() error {
	into := g.conn.into
	b := &pgx.Batch{}
	b.Queue(beginToRead)
	if g.long {
		b.Queue(pageByPage)
	}
	for _, one := range g.asks {
		b.Queue(into.text(one.text), into.values(one.args)...)
	}
	b.Queue("COMMIT")
	err := raw(g.conn, func(c *pgx.Conn) (err error) {
		sent := c.SendBatch(g.ctx, b)
		defer func() { err = errors.Join(err, sent.Close()) }()
		if _, err := sent.Exec(); err != nil {
			return fmt.Errorf("begin to read: %w", err)
		}
		if g.long {
			if _, err := sent.Exec(); err != nil {
				return fmt.Errorf("have pages planned: %w", err)
			}
		}
		for _, read := range g.read {
			if _, err := each(sent, into, read); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		g.conn.rollback(g.ctx)
	}
	return err
}

// lookAtServer is Look on a server.
func (s *Store) lookAtServer(ctx context.Context, owner memory.Owner, l memory.Look, version bool) (seen memory.Seen, err error) {
	err = s.reads.look(ctx, owner, func(v *view) error {
		seen = memory.Seen{}
		g := &readBatch{view: v}
		if version {
			g.ask(v.asking(`SELECT version FROM owners WHERE owner = ?`, nil), func(row scanner) error { return row.Scan(&seen.Version) })
		}
		byID := g.byID(l.IDs)
		pages, err := g.pages(l.Queries)
		if err != nil {
			return err
		}
		if err := g.send(); err != nil {
			return fmt.Errorf("look at memories: %w", err)
		}
		for _, id := range l.IDs {
			if m, ok := byID[id]; ok {
				seen.Memories = append(seen.Memories, m)
			}
		}
		for i, q := range l.Queries {
			seen.Pages = append(seen.Pages, firstPage(pages[i], limited(q.Limit)))
		}
		return nil
	})
	return seen, err
}

// byID asks for memories, which are found once g was sent.
func (g *readBatch) byID(ids []string) map[string]memory.Memory {
	found := map[string]memory.Memory{}
	if len(ids) == 0 {
		return found
	}
	for _, from := range []source{turns, facts, links, summaries} {
		w := ofOwner()
		w.anyOf(`id`, ids) // one statement however many there are
		g.ask(g.asking(`SELECT `+from.columns+` FROM `+from.table+` `+w.text(), w.args), func(row scanner) error {
			m, err := from.scan(g.owner, row)
			if _, known := found[m.ID()]; err == nil && !known {
				found[m.ID()] = m
			}
			return err
		})
	}
	return found
}

// pages asks for what matches each of the queries, which is found once g was sent. All the
// links are looked at for each, and read once.
func (g *readBatch) pages(queries []memory.Query) ([][]memory.Memory, error) {
	found := make([][]memory.Memory, len(queries))
	var linked []statement
	wanted := map[int][]int{} // of each of those the queries that it is for
	for i, q := range queries {
		g.long = g.long || isLong(q)
		for _, from := range sourcesOf(q) {
			if from.table == links.table {
				one, err := g.linksOf(q)
				if err != nil {
					return nil, err
				}
				at := slices.IndexFunc(linked, func(s statement) bool { return reflect.DeepEqual(s, one) })
				if at < 0 {
					at, linked = len(linked), append(linked, one)
				}
				wanted[at] = append(wanted[at], i)
				continue
			}
			for _, sel := range g.selections(from, q) {
				one, err := g.pageOf(from, sel, q, limited(q.Limit)+1)
				if err != nil {
					return nil, err
				}
				g.ask(one, func(row scanner) error {
					m, err := from.scan(g.owner, row)
					found[i] = append(found[i], m)
					return err
				})
			}
		}
	}
	for at, one := range linked {
		g.ask(one, func(row scanner) error {
			m, err := links.scan(g.owner, row)
			for _, i := range wanted[at] {
				if err == nil && queries[i].Matches(m) {
					found[i] = append(found[i], copyMemory(m))
				}
			}
			return err
		})
	}
	return found, nil
}
