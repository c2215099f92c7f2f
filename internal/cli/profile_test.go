package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

// TestProfileIsWrittenReadAndUndone goes through a memory of its own, without a server.
func TestProfileIsWrittenReadAndUndone(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	run("the profile is empty; loci profile set KEY VALUE adds an entry", "profile")
	run("", "add", "User has a dog named Rex")
	run("User has a dog named Rex", "core")
	run("units: metric, and degrees Celsius", "profile", "set", "units", "metric,", "and", "degrees", "Celsius")
	run("timezone: Europe/Lisbon", "profile", "set", "timezone", "Europe/Lisbon")
	run("timezone: Africa/Tunis", "profile", "set", "timezone", "Africa/Tunis")
	if out := run("", "profile", "timezone"); out != "Africa/Tunis\n" {
		t.Errorf("the value is %q", out)
	}
	var p client.Profile
	noError(t)(json.Unmarshal([]byte(run("", "profile", "--json")), &p))
	var keys []string
	for _, e := range p.Entries {
		keys = append(keys, e.Key)
	}
	if !slices.Equal(keys, []string{"timezone", "units"}) {
		t.Errorf("the keys are %q", keys)
	}
	run("the profile is empty", "profile", "--user", "ben")
	run("Africa/Tunis", "profile")
	run("removed timezone", "profile", "remove", "timezone")
	if out := run("units", "profile"); strings.Contains(out, "timezone") {
		t.Errorf("after its removal the key is there: %q", out)
	}
	run("", "undo", "--yes")
	run("Africa/Tunis", "profile", "timezone")
	for _, wrong := range [][]string{{"profile", "a key with spaces"}, {"profile", "absent"}, {"profile", "remove", "absent"}, {"profile", "set", "units"}, {"profile", "a", "b"}} {
		if out, err := tryAt(t, data, "sqlite", wrong...); err == nil {
			t.Errorf("loci %v: %q, want an error", wrong, out)
		}
	}
}
