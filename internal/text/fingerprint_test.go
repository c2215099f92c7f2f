package text

import (
	"testing"
	"testing/fstest"
)

func TestFingerprintChangesWithTablesAndCode(t *testing.T) {
	files := func(name, content string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(content)}} }
	seen := map[string]bool{}
	for _, f := range []string{
		fingerprintOf(files("a", "x"), 1), fingerprintOf(files("a", "y"), 1), fingerprintOf(files("b", "x"), 1),
		fingerprintOf(files("a", "x"), 2), Fingerprint(),
	} {
		if len(f) != 32 || seen[f] {
			t.Errorf("fingerprint %q, of 32 digits and unlike all others?", f)
		}
		seen[f] = true
	}
	first, again := fingerprintOf(files("a", "x"), 1), fingerprintOf(files("a", "x"), 1)
	if first != again {
		t.Errorf("the same has the fingerprints %s and %s", first, again)
	}
}
