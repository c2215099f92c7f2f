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

// runUnprivileged makes a command run as another user, who becomes the folder's owner, if this process
// runs as root: PostgreSQL refuses to run as root.
func runUnprivileged(c *exec.Cmd, folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(folder, int(uid), int(gid)) //nolint:gosec // both ids have 32 bits
}

// Crash kills one of the server's processes, after which the server ends all connections and restarts
// from its log. It skips the test unless this process started the server.
func Crash(t testing.TB) {
	t.Helper()
	if address := Address(t); server.stop == nil {
		t.Skipf("the test cannot crash %s, which it did not start", address)
	}
	var pid int
	if err := Open(t, server.address).QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatalf("find a process of the server: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
