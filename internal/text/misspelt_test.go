package text

import (
	"slices"
	"testing"
)

func meant(term string) (out []string) {
	EachCorrection(term, func(m []byte) { out = append(out, string(m)) })
	return out
}

func TestMisspeltTermsHaveCorrections(t *testing.T) {
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

func TestASlipInTheEndingIsFound(t *testing.T) {
	for word, want := range map[string]string{
		"paintign": "paint", "paintng": "paint", "hikking": "hike", "alergics": "", "walkde": "walk", "studeis": "studi",
	} {
		var got []string
		EachEndingCorrection(word, func(term string) { got = append(got, term) })
		if want != "" && !slices.Contains(got, want) {
			t.Errorf("%q is not taken for %q", word, want)
		}
	}
}

func BenchmarkEachMeant(b *testing.B) {
	vocabulary := map[string]int{"barcelona": 1}
	b.ReportAllocs()
	for b.Loop() {
		EachCorrection("barcelnoa", func(m []byte) { _ = vocabulary[string(m)] })
	}
}

func BenchmarkEachMeantEnding(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		EachEndingCorrection("paintign", func(string) {})
	}
}
