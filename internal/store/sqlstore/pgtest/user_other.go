//go:build !unix

package pgtest

import (
	"os/exec"
	"testing"
)

// runUnprivileged does nothing, since this system has no root user.
func runUnprivileged(*exec.Cmd, string) error { return nil }

// Crash skips the test, since crashing a server needs Unix signals.
func Crash(t testing.TB) {
	t.Helper()
	t.Skip("a server can be crashed on Unix only")
}
