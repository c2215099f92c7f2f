// Package disk has what lasting on a disk takes beside [os].
package disk

import (
	"errors"
	"os"
	"runtime"
)

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
