package contract

import (
	"os/exec"
	"testing"
)

// TestLociOnTheServer runs tests of Loci's own module with its memory on the server: the
// platform's scene, step by step, and the figures of retrieval beside those of SQLite.
func TestLociOnTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds all of Loci")
	}
	for name, in := range map[string]string{
		"^TestProfilePlatform": "internal/assembly", "^TestRetrievalIsTheSameOnEveryStore$/^mongodb$": "bench/eval",
	} {
		t.Run(in, func(t *testing.T) {
			tests := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", name, ".")
			tests.Dir = "../../../../" + in
			out, err := tests.CombinedOutput()
			t.Logf("%s", out) // what was skipped, too
			if err != nil {
				t.Error(err)
			}
		})
	}
}
