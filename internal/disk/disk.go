// Package disk adds durable writes to [os], and measures disk use.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// halfSuffix is the suffix of a file that Replace has not finished.
const halfSuffix = ".tmp"

// Replace writes data to a file with mode 0600. The file always has its old or its new content, and
// is durable when Replace returns nil. A crash leaves a temporary file, which the next Replace
// overwrites; so only one writer at a time is allowed.
func Replace(path string, data []byte) error {
	half := path + halfSuffix
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return replace(path, f, data)
}

// ReplaceAmongOthers is Replace for concurrent writers in several processes: the last one wins. A
// crash leaves a temporary file.
func ReplaceAmongOthers(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+halfSuffix)
	if err != nil {
		return err
	}
	return replace(path, f, data)
}

// replace writes data to f and renames it to path.
func replace(path string, f *os.File, data []byte) error {
	half := f.Name()
	_, err := f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		_ = os.Remove(half) // the first error is the cause
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes creations, renames and removals in a folder durable.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows does not need this
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Use returns the total size of the files under a folder.
func Use(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
