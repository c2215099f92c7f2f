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

// scrub takes what was deleted or overwritten out of the file and empties the log, if there
// is a mark that wants it: SQLite leaves it in free pages, and between the rows of others.
// Other writes wait as long.
func (w *writer) scrub(ctx context.Context) error {
	return w.submit(&call{ctx: ctx, alone: true, done: make(chan struct{}), do: func(*tx) error {
		var marked int
		if err := w.session.conn.QueryRowContext(context.Background(), `PRAGMA user_version`).Scan(&marked); err != nil || marked == 0 {
			return wrap("read whether to scrub", err)
		}
		if err := w.rid(); err != nil {
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

// rid takes out of the file what it does not use: in place, or by writing it anew where that
// is most of it, or where its pages are not understood.
func (w *writer) rid() error {
	var pages, free int
	for pragma, into := range map[string]*int{`PRAGMA page_count`: &pages, `PRAGMA freelist_count`: &free} {
		if err := w.session.conn.QueryRowContext(context.Background(), pragma).Scan(into); err != nil {
			return fmt.Errorf("%s: %w", pragma, err)
		}
	}
	if free <= pages/2 {
		err := w.blank()
		if err == nil {
			return nil
		}
		if w.log != nil {
			w.log.Warn("the database is written anew, since its pages were not understood", "err", err)
		}
	}
	err := w.each(`PRAGMA temp_store = file`, `VACUUM`) // the copy would be as large in memory as the file
	return errors.Join(err, w.each(`PRAGMA temp_store = memory`))
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
