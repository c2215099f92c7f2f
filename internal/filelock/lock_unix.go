//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Take takes the lock and returns what gives it back. Where another process has it,
// the error is [memory.Conflict]: who that is, and what it means ("has it open; …").
// The kernel gives it back when the process ends, however it ends; the
// file stays and says who was the last to hold it. What is released is free at once:
// closing the file alone would leave the lock with a child that was forked
// meanwhile, until it has begun its own program.
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
