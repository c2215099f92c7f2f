// Package filelock keeps a second process off a file or folder. The lock file says who
// holds it, or was the last to.
package filelock

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// sign writes into a lock file who holds it.
func sign(f *os.File) error {
	host, _ := os.Hostname()
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "process %d (%s) on %s\n", os.Getpid(), os.Args[0], cmp.Or(host, "this machine")), 0)
	return err
}

// heldBy is the error of a lock that somebody else holds: who it is, and what that means.
func heldBy(f *os.File, means string) error {
	text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
	who := cmp.Or(strings.TrimSpace(string(text)), "another process")
	return memory.Errorf(memory.Conflict, "%s %s", who, means)
}
