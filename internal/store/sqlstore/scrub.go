package sqlstore

import (
	"context"
	"errors"
	"fmt"
)

// The mark in the file, its user version, that words were erased which may still
// stand in free pages or in the log.
const (
	toScrub  = `PRAGMA user_version = 1`
	scrubbed = `PRAGMA user_version = 0`
)

// scrub writes the file anew from what stands and empties the log, if there is a mark
// that wants it: SQLite leaves in free pages, and between the rows of others, what
// was deleted or overwritten there. Other writes wait as long.
func (w *writer) scrub(ctx context.Context) error {
	return w.submit(&call{ctx: ctx, alone: true, done: make(chan struct{}), do: func(*tx) error {
		var marked int
		if err := w.session.conn.QueryRowContext(context.Background(), `PRAGMA user_version`).Scan(&marked); err != nil || marked == 0 {
			return wrap("read whether to scrub", err)
		}
		// The copy would be as large in memory as the file.
		err := w.each(`PRAGMA temp_store = file`, `VACUUM`)
		if err = errors.Join(err, w.each(`PRAGMA temp_store = memory`)); err != nil {
			return err
		}
		var busy, log, moved int
		if err := w.session.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil {
			return fmt.Errorf("empty the log: %w", err)
		}
		if busy != 0 {
			return errors.New("the log is being read")
		}
		return w.each(scrubbed)
	}})
}

// each runs statements one after the other, outside of any transaction.
func (w *writer) each(statements ...string) error {
	for _, s := range statements {
		if _, err := w.session.conn.ExecContext(context.Background(), s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
