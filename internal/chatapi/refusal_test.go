package chatapi

import (
	"os"
	"strings"
	"testing"
)

// TestRefusalKindsAreDistinguished reads real servers' errors.
func TestRefusalKindsAreDistinguished(t *testing.T) {
	file := try(os.ReadFile("testdata/refusals.tsv")).orFail(t)
	seen := map[RefusalKind]int{}
	for line := range strings.Lines(string(file)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			t.Fatalf("%q has %d fields, want kind, server and body", line, len(fields))
		}
		want := RefusalKind(fields[0])
		got := ReadRefusal([]byte(fields[2]))
		if got.Kind != want || (want != RefusesOther) != (got.Wording != "") {
			t.Errorf("%s: got %+v, want %q for %s", fields[1], got, want, fields[2])
		}
		seen[want]++
	}
	for _, kind := range []RefusalKind{RefusesRoles, RefusesLength, RefusesOther} {
		if seen[kind] < 5 {
			t.Errorf("%d examples of %q, want some", seen[kind], kind)
		}
	}
}

// TestLengthGoesBeforeRoles: a prompt that is too long must not change the placement of memory.
func TestLengthGoesBeforeRoles(t *testing.T) {
	got := ReadRefusal([]byte(`{"error":{"message":"maximum context length is 8192, near \"roles must alternate\""}}`))
	if got.Kind != RefusesLength {
		t.Errorf("got %+v, want length", got)
	}
}

func FuzzRefusal(f *testing.F) {
	for _, s := range []string{`[{"error":{}}]`, `{"error":[1]}`, `{"detail":[{"msg":1}]}`, `"x"`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := ReadRefusal(body); (got.Kind == RefusesOther) != (got.Wording == "") {
			t.Errorf("%q: %+v", body, got)
		}
	})
}
