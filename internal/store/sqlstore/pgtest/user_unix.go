//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"testing"
)

// asNobody makes a command run as another user in a folder if the current user is root: root must
// not run the server.
func asNobody(c *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(dir, int(uid), int(gid)) //nolint:gosec // both ids have 32 bits
}

// Crash makes the server end all connections and recover from its log, as if one of its processes
// had died. The test is skipped unless it started the server.
func Crash(t testing.TB) {
	t.Helper()
	if address := Address(t); server.stop == nil {
		t.Skipf("%s was not started by this test, so it is not crashed", address)
	}
	var pid int
	if err := Open(t, server.address).QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatalf("find a process of the server: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
