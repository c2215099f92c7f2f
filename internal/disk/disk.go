// Package disk has what lasting on a disk takes beside [os], and what lies there.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// halfSuffix is what the name of a file ends with that Replace has not written whole.
const halfSuffix = ".tmp"

// Replace lets a file of that name hold data, for its owner's eyes alone. Whatever happens
// the file is as it was or whole, and it lasts once Replace has returned nil. What a process
// that died was writing lies beside it, and the next Replace writes over that; so one at a
// time may write a file.
func Replace(path string, data []byte) error {
	half := path + halfSuffix
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return replace(path, f, data)
}

// ReplaceAmongOthers is Replace where several processes may write the file at once: the last
// one's is what it holds. What one that died was writing stays beside it.
func ReplaceAmongOthers(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+halfSuffix)
	if err != nil {
		return err
	}
	return replace(path, f, data)
}

// replace lets what a file is written to take the place of another.
func replace(path string, f *os.File, data []byte) error {
	half := f.Name()
	_, err := f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		_ = os.Remove(half) // the first error says what is wrong
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes what was made, renamed or removed in a folder last.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // there it lasts by itself
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Use returns the bytes of all files under a folder.
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
