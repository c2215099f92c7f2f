package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// command runs a command of loci against the server and returns what it prints.
func (l *loci) command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append(args, "--addr", strings.TrimPrefix(l.url, "http://"))...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("loci %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// prints checks that a command prints each of these.
func (l *loci) prints(t *testing.T, command string, wanted ...string) {
	t.Helper()
	out := l.command(t, strings.Fields(command)...)
	for _, want := range wanted {
		if !strings.Contains(out, want) {
			t.Errorf("loci %s does not print %q:\n%s", command, want, out)
		}
	}
}
