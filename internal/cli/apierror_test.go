package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestARefusalNamesWhatWasTyped: what is out of bounds is named as the command line has it,
// not as the API does.
func TestARefusalNamesWhatWasTyped(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	id := strings.Fields(run("", "add", "User plays the oboe"))[0]
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--limit 9999: at most 500", []string{"list", "--limit", "9999"}},
		{"--limit -1: at least 1", []string{"list", "--limit", "-1"}},
		{"--limit 501: at most 500", []string{"history", "--limit", "501"}},
		{"--top-k 9999: at most 500", []string{"search", "oboe", "--top-k", "9999"}},
		{"--steps 9: at most 5", []string{"relate", id, "--steps", "9"}},
		{"--steps 9: at most 5; --limit 999: at most 200", []string{"relate", id, "--steps", "9", "--limit", "999"}},
		{"--confidence 7: at most 1", []string{"edit", id, "--confidence", "7"}},
		{"--kind: \"poem\" is none of", []string{"list", "--kind", "poem"}},
		{"--status: \"lost\" is none of", []string{"list", "--status", "lost"}},
		{"--tag " + strings.Repeat("x", 10), []string{"edit", id, "--tag", strings.Repeat("x", 300)}},
	} {
		out, err := tryAt(t, data, "sqlite", c.args...)
		switch {
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("loci %v: %q %v, want an error with %q", c.args, out, err, c.want)
		case strings.Contains(err.Error(), "query.") || strings.Contains(err.Error(), "body.") || !errors.Is(err, memory.Invalid):
			t.Errorf("loci %v: %v", c.args, err)
		}
	}
}
