// Package filelock keeps a second process from using a file or folder. The lock is on a lock file, whose
// text names the process that holds the lock or, if nobody does, the last holder.
package filelock

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// writeSignature writes this process's signature into a lock file.
func writeSignature(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(signature()), 0)
	return err
}

// signature returns the first line of a lock file, which identifies this process and machine.
func signature() string {
	return fmt.Sprintf("process %d (%s)%s", os.Getpid(), os.Args[0], hostSuffix())
}

// hostSuffix returns the end of a signature, which names the machine.
func hostSuffix() string {
	host, _ := os.Hostname()
	return fmt.Sprintf(" on %s\n", cmp.Or(host, "this machine"))
}

// urlPrefix is the prefix of a lock file's second line, which contains the URL of the holder's server.
const urlPrefix = "answers at "

// SetURL writes the URL of this process's server into the lock file at path. The process must hold the
// lock. The next holder of the lock removes the URL.
func SetURL(path, url string) error {
	return os.WriteFile(path, []byte(signature()+urlPrefix+url+"\n"), 0o600)
}

// HolderURL returns the URL of the process that holds the lock at path, "" if that process has no URL or
// is on another machine. Call it only after Lock has failed: a free lock's file has the last holder's URL.
func HolderURL(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	holder, url, ok := strings.Cut(string(text), hostSuffix()+urlPrefix)
	if !ok || strings.Contains(holder, "\n") {
		return ""
	}
	return strings.TrimSpace(url)
}

// heldError returns Lock's error if another process holds the lock: the text of f, which names that
// process, then the explanation.
func heldError(f *os.File, explanation string) error {
	text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
	holder := cmp.Or(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", which "), "another process")
	if strings.Contains(holder, urlPrefix) {
		holder += ","
	}
	return memory.Errorf(memory.Conflict, "%s %s", holder, explanation)
}
