package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// isTerminal reports whether a person sits at the other end of f.
func isTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// keyByKey would hand out each key as it is pressed; here answers are read by line.
func keyByKey(*os.File) (back func(), ok bool) { return nil, false }
