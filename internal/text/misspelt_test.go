package text

import (
	"slices"
	"testing"
)

func meant(term string) (out []string) {
	EachMeant(term, func(m []byte) { out = append(out, string(m)) })
	return out
}

func TestWhatAMisspeltTermMayBeMeantToBe(t *testing.T) {
	for term, want := range map[string]string{
		"naem": "name", "anme": "name", "lisst": "list", "yelow": "yellow",
		"alerg": "allerg", "barcelnoa": "barcelona", "margret": "margaret",
		"kathrin": "katrin", "yesterdey": "yesterday", "lisbonn": "lisbon", "barcellona": "barcelona",
	} {
		if !slices.Contains(meant(term), want) {
			t.Errorf("%q is not taken for %q", term, want)
		}
	}
	for term, not := range map[string]string{
		"nme": "name", "nane": "name", "nam": "name", "mouse": "house", "hause": "house", "rname": "name",
		"barcelnoaa": "barcelona", "2023": "2032", "москав": "москва",
	} {
		if slices.Contains(meant(term), not) {
			t.Errorf("%q is taken for %q", term, not)
		}
	}
	if got := meant("sister"); got != nil {
		t.Errorf("a word of the tables is taken for %d others", len(got))
	}
}

// Nothing comes twice, the word itself never, and all of it is one slip away.
func TestEverySlipIsTriedOnce(t *testing.T) {
	for _, term := range []string{"abcd", "aabb", "aaaa", "alerg", "aaabbb", "barcelnoa", "zzzzzz"} {
		got := meant(term)
		slices.Sort(got)
		if n := len(slices.Compact(slices.Clone(got))); n != len(got) {
			t.Errorf("%q: %d of %d come twice", term, len(got)-n, len(got))
		}
		for _, m := range got {
			if slips(term, m) != 1 {
				t.Errorf("%q is %d slips from %q", term, slips(term, m), m)
			}
		}
	}
	// One is left out at six places of seven, one too many at all but the first and where it stands
	// twice, another stands at all but the first.
	if got, want := len(meant("barton")), 5+5+5*25+6*25+1; got != want {
		t.Errorf("%d are tried for a word of six letters, want %d", got, want)
	}
}

// slips is the distance of two words in letters left out, too many, other or swapped.
func slips(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], 1+d[i-2][j-2])
			}
		}
	}
	return d[len(a)][len(b)]
}

func TestASlipInTheEndingIsFound(t *testing.T) {
	for word, want := range map[string]string{
		"paintign": "paint", "paintng": "paint", "hikking": "hike", "alergics": "", "walkde": "walk", "studeis": "studi",
	} {
		var got []string
		EachMeantEnding(word, func(term string) { got = append(got, term) })
		if want != "" && !slices.Contains(got, want) {
			t.Errorf("%q is not taken for %q", word, want)
		}
	}
}

func BenchmarkEachMeant(b *testing.B) {
	known := map[string]int{"barcelona": 1}
	b.ReportAllocs()
	for b.Loop() {
		EachMeant("barcelnoa", func(m []byte) { _ = known[string(m)] })
	}
}

func BenchmarkEachMeantEnding(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		EachMeantEnding("paintign", func(string) {})
	}
}
