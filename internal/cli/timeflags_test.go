package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
)

// TestReadsOfAnotherTime goes through a memory of its own: each command that reads shows
// what there was before, and what there is.
func TestReadsOfAnotherTime(t *testing.T) {
	data, file := t.TempDir(), t.TempDir()+"/guide.md"
	run := func(args ...string) string {
		t.Helper()
		out, err := tryAt(t, data, "sqlite", args...)
		if err != nil {
			t.Fatalf("loci %s: %v", strings.Join(args, " "), err)
		}
		return out
	}
	never := time.Now().Format(time.RFC3339Nano)
	run("profile", "set", "city", "Porto")
	id := strings.Fields(run("add", "User lives in Porto"))[0]
	writeFile(t, file, "The first guide")
	var d client.ContextDocument
	noError(t)(json.Unmarshal([]byte(run("contexts", "add", file, "--json")), &d))
	was := time.Now().Format(time.RFC3339Nano)
	run("profile", "set", "city", "Lisbon")
	run("edit", id, "--content", "User lives in Lisbon")
	run("contexts", "edit", d.ID, "--title", "Second")

	for _, c := range []struct {
		args     []string
		was, now string
	}{
		{[]string{"profile"}, "Porto", "Lisbon"},
		{[]string{"profile", "city"}, "Porto", "Lisbon"},
		{[]string{"profile"}, "Porto", "Lisbon"},
		{[]string{"list"}, "Porto", "Lisbon"},
		{[]string{"search", "Where does the user live?"}, "Porto", "Lisbon"},
		{[]string{"contexts", "list"}, "guide", "Second"},
		{[]string{"contexts", "show", d.ID, "--json"}, "guide", "Second"},
	} {
		// valid_at of now besides: what is said of both times is asked of both.
		for _, at := range [][]string{{"--as-of", was}, {"--as-of", was, "--valid-at", was}} {
			if out := run(append(slices.Clone(c.args), at...)...); !strings.Contains(out, c.was) || strings.Contains(out, c.now) {
				t.Errorf("loci %v %v: %q, want %s and no %s", c.args, at, out, c.was, c.now)
			}
		}
		if out := run(c.args...); !strings.Contains(out, c.now) || !strings.Contains(c.was, "guide") && strings.Contains(out, c.was) {
			t.Errorf("loci %v: %q, want %s", c.args, out, c.now)
		}
		out, err := tryAt(t, data, "sqlite", append(slices.Clone(c.args), "--as-of", never)...)
		if strings.Contains(out, c.was) || strings.Contains(out, c.now) {
			t.Errorf("loci %v before all: %q %v", c.args, out, err)
		}
	}
}

// TestAServerIsAskedForTheTime, too.
func TestAServerIsAskedForTheTime(t *testing.T) {
	s := newStandIn(t, map[string]any{"GET /api/profile": client.Profile{}})
	var asked []string
	s.Config.Handler = remembering(&asked, s.Config.Handler)
	noError(t)(s.loci(t, "profile", "--as-of", "2026-05-03T14:00:00Z"))
	if want := "/api/profile?as_of=2026-05-03T14%3A00%3A00Z"; !slices.Contains(asked, want) || !slices.Contains(asked, "/health") {
		t.Errorf("asked %q, want %s and /health as it is", asked, want)
	}
}
