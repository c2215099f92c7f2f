//go:build !unix

package pgtest

import (
	"os/exec"
	"testing"
)

// asNobody does nothing: this system has no root user.
func asNobody(*exec.Cmd, string) error { return nil }

// Crash skips the test: it needs Unix.
func Crash(t testing.TB) {
	t.Helper()
	t.Skip("a server can be crashed on Unix only")
}
