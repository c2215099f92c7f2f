//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Take takes the lock and returns a function that releases it. If another process holds the lock,
// the error is [memory.Conflict]: it names the process, then means ("has it open; …"). The kernel
// releases the lock when the process ends; the file stays. release unlocks explicitly, since after
// only closing the file, a child process forked meanwhile would hold the lock until it executes its
// program.
func Take(path, means string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = heldBy(f, means)
		}
		return nil, errors.Join(err, f.Close())
	}
	if err := sign(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close()) }, nil
}
