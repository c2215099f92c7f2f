package filelock

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReleasedDespiteAFork keeps a second descriptor of the lock's open file, as a child
// does between fork and exec.
func TestReleasedDespiteAFork(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	release, err := Lock(path, "has it open")
	if err != nil {
		t.Fatal(err)
	}
	inherited := copies(t, path)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = Lock(path, "has it open")
	if err != nil {
		t.Fatalf("%d descriptors are left of a lock that was released: %v", len(inherited), err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

// copies duplicates this process's descriptors of a file.
func copies(t *testing.T, path string) (made []int) {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range open {
		if target, err := os.Readlink(link); err != nil || target != path {
			continue
		}
		var fd int
		if _, err := fmt.Sscan(filepath.Base(link), &fd); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		made = append(made, fd)
	}
	if len(made) == 0 {
		t.Fatalf("%s is not open", path)
	}
	return made
}
