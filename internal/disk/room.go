package disk

import (
	"errors"
	"os"
)

// probeSize is the number of bytes that ProbeWrite writes. It is large enough that file systems need a
// free block for it, instead of space in the inode, so that the write fails on a full disk.
const probeSize = 4 << 10

// ProbeWrite writes, syncs and removes a file in a folder, and returns an error if this fails.
func ProbeWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*"+tempSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeSize))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
