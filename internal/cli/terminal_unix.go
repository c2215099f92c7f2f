//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether a person sits at the other end of f.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// keyByKey makes a terminal hand out each key as it is pressed, unseen, until back
// is called. An interrupt comes as a key as well. ok is false where that cannot be.
func keyByKey(f *os.File) (back func(), ok bool) {
	was, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return nil, false
	}
	raw := *was
	raw.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(int(f.Fd()), setTermios, &raw) != nil {
		return nil, false
	}
	return func() { _ = unix.IoctlSetTermios(int(f.Fd()), setTermios, was) }, true // it was taken before
}
