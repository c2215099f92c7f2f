package cli

import (
	"runtime"
	"testing"
)

// TestOnlyItsOwnHooksAreLocis: what else runs a hook stays, also one that runs Loci's.
func TestOnlyItsOwnHooksAreLocis(t *testing.T) {
	for command, want := range map[string]bool{
		"/usr/local/bin/loci hook":                        true,
		"/loci hook --addr 127.0.0.1:7100":                true,
		"'/home/ana b/loci' hook":                         true,
		`C:\Tools\loci.exe hook`:                          true,
		`"C:\Program Files\loci.exe" hook`:                true,
		"loci hook":                                       false,
		"/usr/local/bin/loci hooks":                       false,
		"/usr/local/bin/loci mcp":                         false,
		"/opt/my-loci hook":                               false,
		"/opt/velociraptor/loci-wrapper hook":             false,
		"/bin/sh -c '/usr/local/bin/loci hook | tee log'": false,
	} {
		if got := lociHookPattern.MatchString(command); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// TestShellLineQuotes what a shell would read in another way.
func TestShellLineQuotes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("another shell")
	}
	got := shellLine([]string{"/home/ana b/loci", "hook", "--user", "o'neil", "--addr", "https://loci.example.com:7077/"})
	if want := `'/home/ana b/loci' hook --user 'o'\''neil' --addr https://loci.example.com:7077/`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
