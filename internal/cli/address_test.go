package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// TestTheAddressOfAServerMayBeItsURL: commands ask the server at a URL, wherever it stands,
// and never the data folder instead; a server does not listen on one.
func TestTheAddressOfAServerMayBeItsURL(t *testing.T) {
	t.Setenv("LOCI_DATA", t.TempDir())
	s := newStandIn(t, map[string]any{"GET /api/memory": client.Memories{Memories: []client.Memory{{ID: "f1", Content: "User plays the oboe", Status: memory.Active}}}})
	run := func(args ...string) (string, error) {
		cmd := newRootCommand()
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	for _, args := range [][]string{{"list", "--addr", s.URL}, {"list", "--addr", s.URL + "/"}, {"list", "--set", "addr=" + s.URL}} {
		if out, err := run(args...); err != nil || !strings.Contains(out, "oboe") {
			t.Errorf("loci %v: %q %v", args, out, err)
		}
	}
	t.Setenv("LOCI_ADDR", s.URL)
	if out, err := run("list"); err != nil || !strings.Contains(out, "oboe") {
		t.Errorf("by the environment: %q %v", out, err)
	}
	for _, command := range []string{"serve", "demo"} {
		if _, err := run(command, "--addr", s.URL); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "to listen, use an address like 127.0.0.1:7077") {
			t.Errorf("loci %s: %v, want that it is not an address to listen on", command, err)
		}
	}
	s.Close()
	if out, err := run("list"); !errors.Is(err, memory.Unavailable) {
		t.Errorf("without the server: %q %v, want that none answers", out, err)
	}
}
