package text

import (
	"os"
	"strings"
	"testing"
)

func TestWordsThatAskAreSpeltRightly(t *testing.T) {
	table, err := os.ReadFile("testdata/respell.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		s, want, _ := strings.Cut(strings.TrimSpace(line), " | ")
		if got := Respell(s); got != want {
			t.Errorf("%q is read as %q, want %q", s, got, want)
		}
		if long := s + strings.Repeat(" so", 100); Respell(long) != long {
			t.Errorf("a long message is read as %q", Respell(long))
		}
	}
	if got := Respell(""); got != "" {
		t.Errorf("nothing is read as %q", got)
	}
}

// A word that asks, or means itself, is never taken for another; what is taken for one is a word
// that asks.
func TestWordsThatAskAreLeftAsTheyAre(t *testing.T) {
	for _, place := range asking() {
		for _, w := range place {
			want := w.means
			if want == w.is {
				want = ""
			}
			if got := asking().meant(w.set, w.is); got != want {
				t.Errorf("%q is taken for %q, want %q", w.is, got, want)
			}
			if want != "" && Respell(want) != want {
				t.Errorf("%q, which %q is taken for, is taken for %q", want, w.is, Respell(want))
			}
		}
	}
}

func BenchmarkRespell(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Respell("What did Caroline say about the adoption agency she talked to last month?")
	}
}
