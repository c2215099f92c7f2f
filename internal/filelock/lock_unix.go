//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Take takes the lock and returns its release. If another process holds it, the error is
// [memory.Conflict] with the holder and the consequence ("has it open; …"). The kernel releases the
// lock when the process ends; the file stays with its last holder. release unlocks explicitly:
// closing the file alone would leave the lock with a child process forked meanwhile, until it
// executes its program.
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
