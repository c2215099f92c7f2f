//go:build linux || darwin

package disk

import (
	"io/fs"
	"syscall"
)

// FreeBytes returns the free space in bytes of a folder's file system.
func FreeBytes(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
