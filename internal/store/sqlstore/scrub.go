package sqlstore

import (
	"context"
	"errors"
	"fmt"
)

// The mark in the file, its user version, that words were erased which may still
// stand in free pages or in the log.
const (
	toScrub   = `PRAGMA user_version = 1`
	scrubbing = `PRAGMA user_version = 2` // of those that were erased before this
	scrubbed  = `PRAGMA user_version = 0`
)

// The points of a scrubbing that tests kill at.
const (
	inPortion      = "in portion"
	betweenPortion = "between portions"
)

// scrub takes what was deleted or overwritten out of the file and empties the log, if there
// is a mark that wants it: SQLite leaves it in free pages, and between the rows of others.
// It does so in portions, between which others write. Once begun it is brought to an end.
func (w *writer) scrub(ctx context.Context) error {
	select {
	case w.scrubs <- struct{}{}:
		defer func() { <-w.scrubs }()
	case <-ctx.Done():
		return ctx.Err()
	}
	pass := &wiper{most: w.portion}
	for more := true; more; ctx = context.WithoutCancel(ctx) {
		err := w.submit(&call{ctx: ctx, alone: true, done: make(chan struct{}), do: func(*tx) (err error) {
			more, err = w.wipePortion(pass)
			return err
		}})
		if err != nil {
			return err
		}
		if more {
			w.failpoint(betweenPortion)
		}
	}
	return nil
}

// wipePortion is a portion of it; more says that there are others.
func (w *writer) wipePortion(pass *wiper) (more bool, err error) {
	if pass.done == nil {
		var marked int
		if err := w.number(`PRAGMA user_version`, &marked); err != nil || marked == 0 {
			return false, err
		}
		if err := w.each(scrubbing, `PRAGMA secure_delete = 1`); err != nil {
			return false, err
		}
	}
	if more, err = w.wipe(pass); err == nil && more {
		return true, nil
	}
	if err := errors.Join(err, w.each(`PRAGMA secure_delete = 0`)); err != nil {
		return false, err
	}
	var busy, log, moved, marked int
	if err := w.session.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil {
		return false, fmt.Errorf("empty the log: %w", err)
	}
	if busy != 0 {
		return false, errors.New("the log is being read")
	}
	if err := w.number(`PRAGMA user_version`, &marked); err != nil || marked != 2 { // whoever erased meanwhile waits
		return false, err
	}
	return false, w.each(scrubbed)
}

// wipe takes out of the file some of what it does not use: in place, or all at once by writing
// it anew where that is most of it, or where its pages are not understood.
func (w *writer) wipe(pass *wiper) (more bool, err error) {
	var pages, free int
	if err := errors.Join(w.number(`PRAGMA page_count`, &pages), w.number(`PRAGMA freelist_count`, &free)); err != nil {
		return false, err
	}
	if free <= pages/2 {
		more, err := w.blank(pass)
		if err == nil {
			return more, nil
		}
		if w.log != nil {
			w.log.Warn("the database is written anew, since its pages were not understood", "err", err)
		}
	}
	err = w.each(`PRAGMA temp_store = file`, `VACUUM`) // the copy would be as large in memory as the file
	return false, errors.Join(err, w.each(`PRAGMA temp_store = memory`))
}

// blank blanks a portion in a transaction.
func (w *writer) blank(pass *wiper) (more bool, err error) {
	if err := w.each(`BEGIN IMMEDIATE`); err != nil {
		return false, err
	}
	if more, err = pass.portion(w.session.conn); err == nil {
		w.failpoint(inPortion)
		err = w.each(`COMMIT`)
	}
	if err != nil {
		return false, errors.Join(err, w.each(`ROLLBACK`))
	}
	return more, nil
}

// number reads what a pragma says.
func (w *writer) number(pragma string, into *int) error {
	err := w.session.conn.QueryRowContext(context.Background(), pragma).Scan(into)
	return wrap(pragma, err)
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
