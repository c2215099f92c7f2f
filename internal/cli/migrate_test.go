package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
)

// runAt runs a command line where no server runs, and returns what it printed.
func runAt(t *testing.T, data, store string, args ...string) string {
	t.Helper()
	out, err := tryAt(t, data, store, args...)
	if err != nil {
		t.Fatalf("loci %q: %v\n%s", args, err, out)
	}
	return out
}

func tryAt(t *testing.T, data, store string, args ...string) (string, error) {
	t.Helper()
	cmd := newRootCommand()
	var out, said bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	cmd.SetArgs(append(slices.Clone(args), "--addr", "127.0.0.1:1", "--data", data, "--set", "store="+store))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// wanting returns what runs commands on a memory of its own, without a server, each of which
// has to print what is wanted.
func wanting(t *testing.T, data string) func(want string, args ...string) string {
	return func(want string, args ...string) string {
		t.Helper()
		out, err := tryAt(t, data, "sqlite", args...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("loci %s: %q %v, want %q", strings.Join(args, " "), out, err, want)
		}
		return out
	}
}

// TestMigratedMemoryIsTheSame moves two users from SQLite to a server and back: each time
// what they take away and their history are the same byte for byte, and what they
// forgot before can be taken back after.
func TestMigratedMemoryIsTheSame(t *testing.T) {
	server := pgtest.Schema(t)
	data, other := t.TempDir(), t.TempDir()
	before := ""
	for _, line := range [][]string{
		{"add", "User is allergic to peanuts", "--tag", "health", "--user", "ana"},
		{"add", "--said", "I live in Berlin.", "--user", "ana"},
		{"add", "--said", "I moved to Lisbon in May.", "--user", "ana"},
		{"add", "User plays the oboe", "--user", "ben"},
		{"forget", "peanuts", "--yes", "--user", "ana"},
	} {
		before = time.Now().Format(time.RFC3339Nano)
		runAt(t, data, "sqlite", line...)
	}
	looks := [][]string{
		{"export", "--user", "ana"}, {"export", "--user", "ben"}, {"history", "--json", "--user", "ana"}, {"history", "--json", "--user", "ben"},
		{"list", "--status", "all", "--json", "--user", "ana"}, {"export", "--as-of", before, "--user", "ana"}, {"jobs", "--json"},
	}
	look := func(data, store string) (seen []string) {
		for _, line := range looks {
			out := runAt(t, data, store, line...)
			if line[0] == "export" { // whose first line says when it was taken
				_, out, _ = strings.Cut(out, "\n")
			}
			seen = append(seen, out)
		}
		return seen
	}
	want := look(data, "sqlite")
	same := func(data, store string) {
		t.Helper()
		for i, got := range look(data, store) {
			if got != want[i] {
				t.Errorf("%s, loci %q:\ngot  %s\nwant %s", store, looks[i], got, want[i])
			}
		}
	}
	if len(want[0]) == 0 || !strings.Contains(want[2], "Berlin") {
		t.Fatalf("got %q: there is nothing to see here", want)
	}

	out := runAt(t, data, server, "migrate", "--from", "sqlite:"+data, "--json") // to the setting store
	var moved backup.MigrateResult
	if err := json.Unmarshal([]byte(out), &moved); err != nil || moved.Owners < 2 || moved.Rows == 0 || moved.RowsBefore != 0 {
		t.Errorf("got %v of %s", err, out)
	}
	same(other, server)
	back := filepath.Join(t.TempDir(), "back") + string(filepath.Separator)
	if out := runAt(t, data, "sqlite", "migrate", "--from", server, "--to", "sqlite:"+back); !strings.Contains(out, "source and target are equal") {
		t.Errorf("got %q", out)
	}
	same(back, "sqlite")

	for data, store := range map[string]string{other: server, back: "sqlite"} {
		if got := runAt(t, data, store, "search", "peanuts", "--user", "ana"); strings.Contains(got, "allergic") {
			t.Errorf("%s: got %q, want it forgotten", store, got)
		}
		runAt(t, data, store, "undo", "--yes", "--user", "ana")
		if got := runAt(t, data, store, "search", "peanuts", "--user", "ana"); !strings.Contains(got, "allergic") {
			t.Errorf("%s, undone: got %q, want it back", store, got)
		}
	}
}

func TestMigrateShowsNoPassword(t *testing.T) {
	data := t.TempDir()
	runAt(t, data, "sqlite", "add", "User plays the oboe")
	for _, to := range []string{"postgres://ana:hunter2@127.0.0.1:1/d?connect_timeout=1", "postgres://ana:hunter2@h:port/d", "postgre://ana:hunter2@h/d"} {
		out, err := tryAt(t, data, "sqlite", "migrate", "--to", to)
		if err == nil || strings.Contains(out+err.Error(), "hunter2") {
			t.Errorf("%s: got %q, %v; want an error without the password", to, out, err)
		}
	}
	if _, err := tryAt(t, data, "sqlite", "migrate"); !errors.Is(err, memory.Invalid) {
		t.Errorf("without addresses: got %v, want it invalid", err)
	}
}
