package disk

import (
	"errors"
	"os"
)

// probed is how much Probe writes: more than a file system keeps within what it knows of a
// file, so that a block is taken.
const probed = 4 << 10

// Probe finds out whether something new can be written into a folder and lasts there: a file
// of its own, which it removes.
func Probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*"+halfSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probed))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
