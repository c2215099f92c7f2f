package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/memory"
)

// readFromServer is read on a server: one way there and back for what is said and what is
// known, which most memories are, and another for what is left, of one moment. An id is of
// one memory, so that the first needs no snapshot.
func (s *Store) readFromServer(ctx context.Context, owner memory.Owner, ids []string) (byID map[string][]memory.Memory, err error) {
	err = s.reads.look(ctx, owner, func(v *view) error {
		byID = make(map[string][]memory.Memory, len(ids))
		if err := v.byIDs([]source{turns, facts}, ids, byID, false); err != nil {
			return err
		}
		return v.byIDs([]source{facts, links, summaries}, ids, byID, true)
	})
	return byID, err
}

// byIDs adds what tables have of the ids that were not found yet, all in one way there and
// back. An id that is in several is what the first of them says.
func (v *view) byIDs(from []source, ids []string, found map[string][]memory.Memory, snapshot bool) error {
	missing := make([]string, 0, len(ids)-len(found))
	for _, id := range ids {
		if found[id] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	into := v.conn.into
	b := &pgx.Batch{}
	if snapshot {
		b.Queue(beginToRead)
	}
	for _, table := range from {
		w := ofOwner()
		w.anyOf(`id`, missing) // one statement however many there are
		args := append([]any{string(v.owner)}, w.args...)
		b.Queue(into.text(`SELECT `+table.columns+` FROM `+table.table+` `+w.text()), into.values(args)...)
	}
	if snapshot {
		b.Queue("COMMIT")
	}
	err := raw(v.conn, func(c *pgx.Conn) (err error) {
		sent := c.SendBatch(v.ctx, b)
		defer func() { err = errors.Join(err, sent.Close()) }()
		if snapshot {
			if _, err := sent.Exec(); err != nil {
				return fmt.Errorf("begin to read: %w", err)
			}
		}
		for _, table := range from {
			_, err := each(sent, into, func(row scanner) error {
				m, err := table.scan(v.owner, row)
				if err == nil && found[m.ID()] == nil {
					found[m.ID()] = []memory.Memory{m}
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("read %s: %w", table.table, err)
			}
		}
		return nil
	})
	if err != nil && snapshot {
		v.conn.rollback(v.ctx)
	}
	return err
}
