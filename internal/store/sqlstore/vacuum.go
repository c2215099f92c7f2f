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

// The file's user_version tells whether free pages or the log may still contain erased text.
const (
	toVacuum = `PRAGMA user_version = 1`
	vacuumed = `PRAGMA user_version = 0`
)

// Points of rewriting the file at which a test can crash the process.
const (
	beforeVacuum = "before VACUUM"
	afterVacuum  = "after VACUUM"
	emptiedLog   = "after the log was emptied"
)

const (
	// After an erasure the file is rewritten when there were no writes for vacuumAfter, and after
	// vacuumWithin at the latest. A failed rewrite is repeated after vacuumWithin.
	vacuumAfter  = time.Second
	vacuumWithin = time.Minute
)

// lingering records erased text that may still be in the file.
type lingering struct {
	since  time.Time // time of the first erasure since the last rewrite; zero: none
	failed time.Time // time when rewriting the file failed
	cause  error     // why it failed
}

// wait returns how long the writer waits for a call before it rewrites the file.
func (l lingering) wait() time.Duration {
	wait := min(vacuumAfter, time.Until(l.since.Add(vacuumWithin)))
	if l.cause != nil {
		wait = max(wait, time.Until(l.failed.Add(vacuumWithin)))
	}
	return wait
}

// marksFile sets the flag in the file after an erasure. On a server it does nothing.
func (t *tx) marksFile() error {
	if t.session.into != nil {
		return nil
	}
	t.marked = true
	return wrap("mark the file", t.exec(toVacuum))
}

// MayHold returns the places where erased text may still be.
func (s *Store) MayHold() []string {
	w, isFile := s.commits.(*writer)
	if !isFile {
		return nil
	}
	switch l := w.lingers(); {
	case l.since.IsZero():
		return nil
	case l.cause != nil:
		return []string{fmt.Sprintf("free pages and the log of the database file; rewriting the file failed and will be repeated: %v", l.cause)}
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

// room returns an error if the disk has no room to rewrite the file: VACUUM copies the file to the
// folder for temporary files, and then writes the whole copy to the log.
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

// vacuum rewrites the file if its flag is set, since SQLite leaves erased text in free pages and
// between rows. Only the writer's goroutine calls it.
func (w *writer) vacuum() {
	select {
	case w.copying <- struct{}{}:
		defer func() { <-w.copying }()
	default: // a copy or an erasure is in progress
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
	err := w.each(`PRAGMA temp_store = file`, `VACUUM`) // in memory the copy would need as much memory as the file has
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

// each runs statements in order, outside of a transaction.
func (w *writer) each(statements ...string) error {
	for _, s := range statements {
		if _, err := w.session.conn.ExecContext(context.Background(), s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
