package vault

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/loci-memory/loci/memory/memtest"
)

// TestFoldersOfWhichTheSystemSaysNothingAreRead edits a file where the system tells of no
// change: it watches no more, or the folder is on a network.
func TestFoldersOfWhichTheSystemSaysNothingAreRead(t *testing.T) {
	silent := func(add error) func() (*notices, error) {
		return func() (*notices, error) {
			return &notices{watch: func(string) error { return add }, close: func() error { return nil }}, nil
		}
	}
	for name, c := range map[string]struct {
		notify  func() (*notices, error)
		unheard string
		within  time.Duration // by the clock of the test
	}{
		"no more folders":  {silent(&os.SyscallError{Err: syscall.ENOSPC}), "max_user_watches", 2 * pollInterval},
		"no more programs": {func() (*notices, error) { return nil, syscall.EMFILE }, "max_user_instances", 2 * pollInterval},
		"a network folder": {silent(nil), "", rescanInterval},
		"events were lost": {func() (*notices, error) {
			n, _ := silent(nil)()
			n.errs = make(chan error, 1)
			n.errs <- fsnotify.ErrEventOverflow
			return n, nil
		}, "", debounce},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				o := Options{HomeOwner: memtest.Ana, notify: c.notify, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
				s, err := Open(t.Context(), dir, inMemory, o)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close() //nolint:errcheck // it is not what is tested
				ended := make(chan error, 1)
				found := errors.New("found")
				go func() {
					ended <- s.Watch(context.Background(), func(r Report) error {
						if len(r.Edits) == 1 && r.Edits[0].Content.Fact.Content == "User plays chess" {
							return found
						}
						return nil
					})
				}()
				begun := time.Now()
				synctest.Wait() // it has looked once, and found nothing
				facts := filepath.Join(dir, "entries", "global", "facts")
				noError(t)(os.MkdirAll(facts, 0o700))
				mine := filepath.Join(facts, "mine.md")
				err = os.WriteFile(mine, []byte("User plays chess\n"), 0o600)
				noError(t)(errors.Join(err, os.Chtimes(mine, time.Now(), time.Now())))
				if err := <-ended; !errors.Is(err, found) {
					t.Errorf("the watch ended: %v", err)
				}
				if took := time.Since(begun); took > c.within {
					t.Errorf("found after %v; want it within %v", took, c.within)
				}
				if got := log.String(); !strings.Contains(got, c.unheard) || (got == "") != (c.unheard == "") {
					t.Errorf("the log says %q; want %q in it", got, c.unheard)
				}
			})
		})
	}
}
