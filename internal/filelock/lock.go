// Package filelock keeps a second process from a file or folder. The lock file names its present or
// last holder.
package filelock

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// sign writes the holder into a lock file.
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

// onHost returns the end of the first line.
func onHost() string {
	host, _ := os.Hostname()
	return fmt.Sprintf(" on %s\n", cmp.Or(host, "this machine"))
}

// answersAt begins the second line of a holder that serves a URL.
const answersAt = "answers at "

// Answer writes this process's URL into the lock file at path, which it must hold. The next holder
// clears it.
func Answer(path, url string) error {
	return os.WriteFile(path, []byte(signature()+answersAt+url+"\n"), 0o600)
}

// Answers returns the URL of the holder of the lock at path: "" without one or on another machine.
// It may be the last holder's: call it after Take has failed.
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

// heldBy returns the error of a lock held by another process, with the holder and the consequence.
func heldBy(f *os.File, means string) error {
	text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
	who := cmp.Or(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", which "), "another process")
	if strings.Contains(who, answersAt) {
		who += ","
	}
	return memory.Errorf(memory.Conflict, "%s %s", who, means)
}
