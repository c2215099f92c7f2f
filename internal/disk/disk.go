// Package disk writes files durably, and measures disk usage and free space.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// tempSuffix is the suffix of temporary files.
const tempSuffix = ".tmp"

// ReplaceFile writes data to a file with mode 0600. The file always has its old or its new content, and
// is durable when ReplaceFile returns nil. A crash may leave a temporary file, which the next call
// overwrites. Concurrent calls for the same path are not allowed.
func ReplaceFile(path string, data []byte) error {
	tempPath := path + tempSuffix
	f, err := os.OpenFile(tempPath, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return writeAndRename(path, f, data)
}

// ReplaceFileShared is ReplaceFile for concurrent calls: the last call wins. A crash may leave a temporary
// file, which nothing removes.
func ReplaceFileShared(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+tempSuffix)
	if err != nil {
		return err
	}
	return writeAndRename(path, f, data)
}

// writeAndRename writes data to the file f, and renames the file to path.
func writeAndRename(path string, f *os.File, data []byte) error {
	tempPath := f.Name()
	_, err := f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(tempPath, path)
	}
	if err != nil {
		_ = os.Remove(tempPath) // its error is less important than err
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes creations, renames and removals in a folder durable.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot sync folders
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Usage returns the total size in bytes of the files under a folder.
func Usage(dir string) (bytes int64, err error) {
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
