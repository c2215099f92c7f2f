package cli

import "os"

// isTerminal reports whether a person sits at the other end of f. It takes the null device for
// one as well, where nobody sees the colours.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
