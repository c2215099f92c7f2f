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
	setVacuumFlag   = `PRAGMA user_version = 1`
	clearVacuumFlag = `PRAGMA user_version = 0`
)

// Points at which a test can crash the process while the file is rewritten.
const (
	beforeVacuum    = "before VACUUM"
	afterVacuum     = "after VACUUM"
	afterLogEmptied = "after the log was emptied"
)

const (
	// After an erasure the file is rewritten when there were no writes for vacuumIdleTime, and after
	// vacuumDeadline at the latest. A failed rewrite is repeated after vacuumDeadline.
	vacuumIdleTime = time.Second
	vacuumDeadline = time.Minute
)

// vacuumState records whether the file must be rewritten, because it may still contain erased text.
type vacuumState struct {
	pendingSince time.Time // first erasure after the last rewrite; zero if there is none
	failedAt     time.Time // time of the last failed rewrite
	lastErr      error     // error of the last rewrite; nil if it did not fail
}

// delay returns how long the writer waits for further writes before it rewrites the file.
func (l vacuumState) delay() time.Duration {
	wait := min(vacuumIdleTime, time.Until(l.pendingSince.Add(vacuumDeadline)))
	if l.lastErr != nil {
		wait = max(wait, time.Until(l.failedAt.Add(vacuumDeadline)))
	}
	return wait
}

// markForVacuum marks an SQLite file for rewriting. With PostgreSQL it does nothing.
func (t *tx) markForVacuum() error {
	if t.session.translator != nil {
		return nil
	}
	t.needsVacuum = true
	return wrap("mark the database file for rewriting", t.exec(setVacuumFlag))
}

// ErasedTextLocations describes the places that may still contain erased text.
func (s *Store) ErasedTextLocations() []string {
	w, isFile := s.committer.(*writer)
	if !isFile {
		return nil
	}
	switch l := w.readVacuumState(); {
	case l.pendingSince.IsZero():
		return nil
	case l.lastErr != nil:
		return []string{fmt.Sprintf("free pages and the log of the database file; rewriting the file failed and will be repeated: %v", l.lastErr)}
	}
	return []string{"free pages and the log of the database file, until Loci rewrites it: a second after the last write, at most a minute from now"}
}

func (w *writer) readVacuumState() vacuumState {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.vacuumState
}

func (w *writer) updateVacuumState(change func(*vacuumState)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.vacuumState)
}

func (w *writer) beginErasure(ctx context.Context) (end func(), err error) {
	if err := w.checkDiskSpace(); err != nil {
		return nil, err
	}
	select {
	case w.copyToken <- struct{}{}:
		return func() { <-w.copyToken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkDiskSpace returns an error if the disk has no space to rewrite the file: VACUUM writes a copy to
// the folder for temporary files, and then the copy to the log, which is next to the file.
func (w *writer) checkDiskSpace() error {
	size := fileSize(w.path)
	for dir, needed := range map[string]int64{filepath.Dir(w.path): 2 * size, os.TempDir(): size} {
		free, err := disk.FreeBytes(dir)
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
	case w.copyToken <- struct{}{}:
		defer func() { <-w.copyToken }()
	default: // a copy or an erasure is in progress, so try again later
		w.updateVacuumState(func(l *vacuumState) { l.pendingSince = time.Now() })
		return
	}
	err := w.rewriteFile()
	if err != nil && w.log != nil {
		w.log.Warn("erased text may remain in free pages of the database file, which could not be rewritten", "err", err)
	}
	w.updateVacuumState(func(l *vacuumState) {
		if err == nil {
			*l = vacuumState{}
			return
		}
		l.failedAt, l.lastErr = time.Now(), err
	})
}

func (w *writer) rewriteFile() error {
	w.failpoint(beforeVacuum)
	err := w.execAll(`PRAGMA temp_store = file`, `VACUUM`) // a copy in memory would be as large as the file
	if err = errors.Join(err, w.execAll(`PRAGMA temp_store = memory`)); err != nil {
		return explainSQLite(w.damage.recordError(err))
	}
	w.failpoint(afterVacuum)
	var busy, log, moved int
	if err := w.session.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil {
		return fmt.Errorf("empty the write-ahead log: %w", err)
	}
	if busy != 0 {
		return errors.New("a reader still uses the write-ahead log")
	}
	w.failpoint(afterLogEmptied)
	return w.execAll(clearVacuumFlag)
}

// execAll runs statements in order, without a transaction.
func (w *writer) execAll(statements ...string) error {
	for _, s := range statements {
		if _, err := w.session.conn.ExecContext(context.Background(), s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
