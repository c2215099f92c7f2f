package contract

import (
	"os/exec"
	"testing"
)

// The platform's scene, step by step, with its memory on the server.
func TestScenesOfPlatform(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds all of Loci")
	}
	scene := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^TestProfilePlatform", "./internal/assembly")
	scene.Dir = "../../../.." // Loci's own module
	if out, err := scene.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
