package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes the lock at path. If another process holds the lock, it returns a [memory.Conflict] with the
// process's name, then explanation. Windows releases the lock when the process ends. The locked range
// begins far after the text, so that other processes can read the text.
func Lock(path, explanation string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: 1 << 30})
	if err != nil {
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			err = heldError(f, explanation)
		}
		return nil, errors.Join(err, f.Close())
	}
	if err := writeSignature(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
