package text

import "testing"

func TestFingerprintChangesWithTablesAndCode(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range []string{fingerprintOf(1, "x"), fingerprintOf(1, "y"), fingerprintOf(1, "x", ""), fingerprintOf(2, "x"), Fingerprint()} {
		if len(f) != 32 || seen[f] {
			t.Errorf("fingerprint %q, of 32 digits and unlike all others?", f)
		}
		seen[f] = true
	}
	first, again := fingerprintOf(1, "x"), fingerprintOf(1, "x")
	if first != again {
		t.Errorf("the same has the fingerprints %s and %s", first, again)
	}
}
