package disk

import (
	"errors"
	"os"
)

// probed is the number of bytes that Probe writes: more than a file system stores inline, so that
// it allocates a block.
const probed = 4 << 10

// Probe checks that a new file can be written durably in a folder. It removes the file.
func Probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*"+halfSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probed))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
