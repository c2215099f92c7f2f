package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inVault runs command lines on a memory in a vault, in this process.
func inVault(t *testing.T, dir string) func(args ...string) string {
	t.Setenv("LOCI_DATA", filepath.Join(dir, "data"))
	t.Setenv("LOCI_VAULT", filepath.Join(dir, "vault"))
	return func(args ...string) string {
		t.Helper()
		cmd := newRootCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(t.Output()) // LOCI_SHARED is warned of there
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("loci %s: %v\n%s", strings.Join(args, " "), err, out.String())
		}
		return out.String()
	}
}

// TestConfirmedDeletionsAreTakenBackAsPrinted deletes everything, confirms it, and runs what
// doctor prints then.
func TestConfirmedDeletionsAreTakenBackAsPrinted(t *testing.T) {
	dir := t.TempDir()
	loci := inVault(t, dir)
	for i := range 3 {
		loci("add", fmt.Sprintf("User owns gadget %c", 'k'+i))
	}
	profile := filepath.Join(dir, "vault", "entries", "global", "profile")
	for _, key := range []string{"timezone", "language"} {
		noError(t)(os.MkdirAll(profile, 0o700))
		noError(t)(os.WriteFile(filepath.Join(profile, key+".md"), []byte("of mine\n"), 0o600))
	}
	loci("doctor")
	noError(t)(os.RemoveAll(filepath.Join(dir, "vault", "entries")))
	out := loci("doctor", "--confirm")
	if left := loci("list"); strings.Contains(left, "gadget") {
		t.Fatalf("confirmed, and there is still\n%s", left)
	}
	n := 0
	for line := range strings.Lines(out) {
		if _, command, ok := strings.Cut(strings.TrimSpace(line), "to undo this: loci "); ok {
			loci(strings.Fields(command)...)
			n++
		}
	}
	back := loci("list")
	for i := range 3 {
		if gadget := fmt.Sprintf("gadget %c", 'k'+i); !strings.Contains(back, gadget) {
			t.Errorf("%s is not back:\n%s", gadget, back)
		}
	}
	for _, key := range []string{"timezone", "language"} {
		if text, err := os.ReadFile(filepath.Join(profile, key+".md")); err != nil || !strings.Contains(string(text), "status: active") {
			t.Errorf("%s is not back: %v\n%s", key, err, text)
		}
	}
	if n == 0 || n > 2 {
		t.Errorf("doctor printed %d commands:\n%s", n, out)
	}
}
