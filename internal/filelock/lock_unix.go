//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the lock at path. If another process holds the lock, it returns a [memory.Conflict] with the
// process's name, then explanation. The kernel releases the lock when the process ends; the file remains.
// release unlocks before it closes the file: a child process may have the same open file between fork and
// exec, and would keep the lock.
func Lock(path, explanation string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = heldError(f, explanation)
		}
		return nil, errors.Join(err, f.Close())
	}
	if err := writeSignature(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close()) }, nil
}
