// Package filelock prevents a second process from using a file or folder. The lock file names the
// process that holds the lock, or held it last.
package filelock

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// sign writes this process's name into a lock file.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(signature()), 0)
	return err
}

// signature is the first line of a lock file: it identifies this process on this machine.
func signature() string {
	return fmt.Sprintf("process %d (%s)%s", os.Getpid(), os.Args[0], onHost())
}

// onHost returns the end of the first line, which names the machine.
func onHost() string {
	host, _ := os.Hostname()
	return fmt.Sprintf(" on %s\n", cmp.Or(host, "this machine"))
}

// answersAt is the prefix of the second line, which contains the URL that the holder serves.
const answersAt = "answers at "

// Answer writes this process's URL into the lock file at path. The process must hold the lock; the
// next holder removes the URL.
func Answer(path, url string) error {
	return os.WriteFile(path, []byte(signature()+answersAt+url+"\n"), 0o600)
}

// Answers returns the URL of the process that holds the lock at path; "" if it has none or is on
// another machine. Call it after Take has failed, since a released lock keeps the last URL.
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

// heldBy returns the error of a lock that another process holds: it names the process, then means.
func heldBy(f *os.File, means string) error {
	text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
	who := cmp.Or(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", which "), "another process")
	if strings.Contains(who, answersAt) {
		who += ","
	}
	return memory.Errorf(memory.Conflict, "%s %s", who, means)
}
