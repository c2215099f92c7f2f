package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// The mark in the file, its user version, that words were erased which free pages or the log
// may still have.
const (
	toVacuum = `PRAGMA user_version = 1`
	vacuumed = `PRAGMA user_version = 0`
)

// The points of writing the file again that tests kill at.
const (
	beforeVacuum = "before VACUUM"
	afterVacuum  = "after VACUUM"
	emptiedLog   = "after the log was emptied"
)

const (
	// vacuumAfter is how long nothing was written when the file is written again after an
	// erasure; whatever is written, it is vacuumWithin later, and after a failure so much later.
	vacuumAfter  = time.Second
	vacuumWithin = time.Minute
)

// lingering is what the writer remembers of erased words that the file may still have.
type lingering struct {
	since  time.Time // of the first erasure that the file still has; zero: it has none
	failed time.Time // when the file could not be written again
	cause  error     // of that
}

// wait returns how long to wait for the next call before the file is written again.
func (l lingering) wait() time.Duration {
	wait := min(vacuumAfter, time.Until(l.since.Add(vacuumWithin)))
	if l.cause != nil {
		wait = max(wait, time.Until(l.failed.Add(vacuumWithin)))
	}
	return wait
}

// marksFile says in the file that words were erased. A server sees to its own files.
func (t *tx) marksFile() error {
	if t.session.into != nil {
		return nil
	}
	t.marked = true
	return wrap("mark the file", t.exec(toVacuum))
}

// MayHold says what of erased words may still be in the file.
func (s *Store) MayHold() []string {
	w, isFile := s.commits.(*writer)
	if !isFile {
		return nil
	}
	switch l := w.lingers(); {
	case l.since.IsZero():
		return nil
	case l.cause != nil:
		return []string{fmt.Sprintf("free pages and the log of the database file, which could not be written again and will be tried again: %v", l.cause)}
	}
	return []string{"free pages and the log of the database file, until it is written again: a second after the last write, a minute from now at the latest"}
}

func (w *writer) lingers() lingering {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.left
}

func (w *writer) linger(change func(*lingering)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.left)
}

func (w *writer) erasing(ctx context.Context) (done func(), err error) {
	if err := w.room(); err != nil {
		return nil, err
	}
	select {
	case w.copying <- struct{}{}:
		return func() { <-w.copying }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// room is an error if the disk has no room to write the file again: VACUUM makes a copy of
// it in the folder for temporary files, and then has all of it in the log.
func (w *writer) room() error {
	size := fileSize(w.path)
	for dir, needed := range map[string]int64{filepath.Dir(w.path): 2 * size, os.TempDir(): size} {
		free, err := disk.Room(dir)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			return err
		}
		if free < needed {
			return memory.Errorf(memory.Unavailable, "nothing was erased: it needs %d MB free in %s, where %d MB are, to write the database file again; make room and erase again",
				needed>>20+1, dir, free>>20)
		}
	}
	return nil
}

// vacuum takes what was erased out of the file and its log, if there is a mark that wants it:
// SQLite leaves it in free pages and between rows. Only the writer's goroutine calls it.
func (w *writer) vacuum() {
	select {
	case w.copying <- struct{}{}:
		defer func() { <-w.copying }()
	default: // it is being copied, or erased from
		w.linger(func(l *lingering) { l.since = time.Now() })
		return
	}
	err := w.rewrite()
	if err != nil && w.log != nil {
		w.log.Warn("erased words may still be in free pages of the database file, which could not be written again", "err", err)
	}
	w.linger(func(l *lingering) {
		if err == nil {
			*l = lingering{}
			return
		}
		l.failed, l.cause = time.Now(), err
	})
}

func (w *writer) rewrite() error {
	w.failpoint(beforeVacuum)
	err := w.each(`PRAGMA temp_store = file`, `VACUUM`) // the copy would be as large in memory as the file
	if err = errors.Join(err, w.each(`PRAGMA temp_store = memory`)); err != nil {
		return explain(w.damage.note(err))
	}
	w.failpoint(afterVacuum)
	var busy, log, moved int
	if err := w.session.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	if busy != 0 {
		return errors.New("the log is being read")
	}
	w.failpoint(emptiedLog)
	return w.each(vacuumed)
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
