package cli

import (
	"strings"
	"testing"
)

// TestANameThatNeverWasIsNotErased unless it is to be closed ahead.
func TestANameThatNeverWasIsNotErased(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	if out, err := tryAt(t, data, "sqlite", "users", "erase", "nobody", "--yes"); err == nil || !strings.Contains(err.Error(), "there is no user/nobody") || !strings.Contains(err.Error(), "--ahead") {
		t.Errorf("who never was: %s, %v; want that there is none, and how to close the name", out, err)
	}
	run("User has a dog", "add", "User has a dog", "--user", "nobody") // it was not closed
	run("nobody is erased and closed", "users", "erase", "nobody", "--yes")
	run("removed: nothing", "users", "erase", "nobody", "--yes") // who was is known
	run("later is erased and closed", "users", "erase", "later", "--yes", "--ahead")
	if _, err := tryAt(t, data, "sqlite", "add", "User has a cat", "--user", "later"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("who was closed ahead writes: %v", err)
	}
}

// TestUsersAreListed in order of their ids, with those who are closed.
func TestUsersAreListed(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	run("User has a dog", "add", "User has a dog", "--user", "ben")
	run("User has a cat", "add", "User has a cat", "--user", "ana")
	run("ben is erased and closed", "users", "erase", "ben", "--yes")
	run(`"closed": true`, "users", "list", "--json")
	out, err := tryAt(t, data, "sqlite", "users", "list")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "ana") || !strings.HasPrefix(lines[1], "ben") || !strings.HasSuffix(lines[1], "erased and closed") {
		t.Errorf("%v, and\n%s", err, out)
	}
}
