package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A start makes nothing that the first question or message would be in time to make
// (sync.OnceValue). These are bounds of what the packages' variables may take, in bytes:
// the largest took 25,000 when they were set, all of them 91,000.
const (
	packageInit = 32 << 10
	allInit     = 112 << 10
)

// TestPackagesMakeLittleBeforeTheStart reads what the runtime tells of each package's
// initialization.
func TestPackagesMakeLittleBeforeTheStart(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const own = "github.com/loci-memory/loci/"
	all, packages := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.*clock, (\d+) bytes`).FindAllSubmatch(out, -1) {
		name, bytes := string(m[1]), 0
		if bytes, err = strconv.Atoi(string(m[2])); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name+"/", own) {
			continue
		}
		packages++
		if all += bytes; bytes > packageInit {
			t.Errorf("the variables of %s take %d bytes before anybody asks for them; sync.OnceValue takes none", name, bytes)
		}
	}
	if all > allInit || packages < 10 {
		t.Errorf("%d packages take %d bytes before anybody asks, want at most %d", packages, all, allInit)
	}
	t.Logf("%d packages take %d bytes", packages, all)
}
