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
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(signature()), 0)
	return err
}

// signature is the first line of a lock file: this process, on this machine.
func signature() string {
	return fmt.Sprintf("process %d (%s)%s", os.Getpid(), os.Args[0], onHost())
}

// onHost ends the first line.
func onHost() string {
	host, _ := os.Hostname()
	return fmt.Sprintf(" on %s\n", cmp.Or(host, "this machine"))
}

// answersAt begins the second line, of a holder that can be talked to.
const answersAt = "answers at "

// Answer writes into the lock file at path, which this process must hold, where this
// process answers. The next who takes the lock wipes it out.
func Answer(path, url string) error {
	return os.WriteFile(path, []byte(signature()+answersAt+url+"\n"), 0o600)
}

// Answers returns where who holds the lock at path answers: "" where it does not say or
// is another machine. It is what the last holder wrote: ask once Take has said that
// the lock is held.
func Answers(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	holder, url, ok := strings.Cut(string(text), onHost()+answersAt)
	if !ok || strings.Contains(holder, "\n") {
		return ""
	}
	return strings.TrimSpace(url)
}

// heldBy is the error of a lock that somebody else holds: who it is, and what that means.
func heldBy(f *os.File, means string) error {
	text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
	who := cmp.Or(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", which "), "another process")
	if strings.Contains(who, answersAt) {
		who += ","
	}
	return memory.Errorf(memory.Conflict, "%s %s", who, means)
}
