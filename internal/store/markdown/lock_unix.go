//go:build unix

package markdown

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock that keeps a second writer off, and returns what gives
// it back. The kernel gives it back when the process ends, however it ends; the
// file stays and says who was the last to hold it.
func lockFile(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = heldBy(f)
		}
		return nil, errors.Join(err, f.Close())
	}
	if err := sign(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
