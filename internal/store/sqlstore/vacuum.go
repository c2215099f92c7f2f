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

// The file's user_version is 1 while free pages or the log may still contain erased text.
const (
	toVacuum = `PRAGMA user_version = 1`
	vacuumed = `PRAGMA user_version = 0`
)

// Points at which a test can crash the process while the file is rewritten.
const (
	beforeVacuum = "before VACUUM"
	afterVacuum  = "after VACUUM"
	emptiedLog   = "after the log was emptied"
)

const (
	// After an erasure the file is rewritten when there were no writes for vacuumIdleTime, and after
	// vacuumDeadline at the latest. A failed rewrite is repeated after vacuumDeadline.
	vacuumAfter  = time.Second
	vacuumWithin = time.Minute
)

// vacuumState records whether the file must be rewritten, because it may still contain erased text.
type lingering struct {
	since  time.Time // first erasure after the last rewrite; zero if there is none
	failed time.Time // time of the last failed rewrite
	cause  error     // error of the last rewrite; nil if it did not fail
}

// delay returns how long the writer waits for a write before it rewrites the file.
func (l lingering) wait() time.Duration {
	wait := min(vacuumAfter, time.Until(l.since.Add(vacuumWithin)))
	if l.cause != nil {
		wait = max(wait, time.Until(l.failed.Add(vacuumWithin)))
	}
	return wait
}

// markForVacuum sets the flag in the file after an erasure. With PostgreSQL it does nothing.
func (t *tx) marksFile() error {
	if t.session.into != nil {
		return nil
	}
	t.marked = true
	return wrap("set the flag to rewrite the file", t.exec(toVacuum))
}

// ErasedTextLocations describes the places that may still contain erased text.
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
	return []string{"free pages and the log of the database file, until Loci rewrites it: a second after the last write, at most a minute from now"}
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

// checkRoom returns an error if the disk has no room to rewrite the file: VACUUM writes a copy to the
// folder for temporary files, and then the whole copy to the log.
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
			return memory.Errorf(memory.Unavailable, "nothing was erased: rewriting the database file needs %d MB free in %s, which has %d MB; make room and erase again",
				needed>>20+1, dir, free>>20)
		}
	}
	return nil
}

// vacuum rewrites the file, since SQLite leaves erased text in free pages and between rows. Only the
// writer's goroutine may call it.
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
		w.log.Warn("erased text may remain in free pages of the database file, which could not be rewritten", "err", err)
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
	err := w.each(`PRAGMA temp_store = file`, `VACUUM`) // a copy in memory would be as large as the file
	if err = errors.Join(err, w.each(`PRAGMA temp_store = memory`)); err != nil {
		return explain(w.damage.note(err))
	}
	w.failpoint(afterVacuum)
	var busy, log, moved int
	if err := w.session.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	if busy != 0 {
		return errors.New("a reader is using the log")
	}
	w.failpoint(emptiedLog)
	return w.each(vacuumed)
}

// execAll runs statements in order, without a transaction.
func (w *writer) each(statements ...string) error {
	for _, s := range statements {
		if _, err := w.session.conn.ExecContext(context.Background(), s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
