package cli

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiffShowsWhatGoesAndComes(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"User lives in Berlin", "User lives in Lisbon", "User lives in [-Berlin-] {+Lisbon+}"},
		{"User lives in Berlin", "User lives in Berlin", "User lives in Berlin"},
		{"User has a dog", "User has no dog now", "User has [-a-] {+no+} dog {+now+}"},
		{"User likes tea and rain", "User likes rain", "User likes [-tea and-] rain"},
		{"", "User likes rain", "{+User likes rain+}"},
		{"User likes rain", "", "[-User likes rain-]"},
		{"", "", ""},
	} {
		if got := (printer{}).diffText(c.old, c.new); got != c.want {
			t.Errorf("diff of %q and %q is %q, want %q", c.old, c.new, got, c.want)
		}
	}
	if got := (printer{colour: true}).diffText("a b", "a c"); got != "a \x1b[31mb\x1b[0m \x1b[32mc\x1b[0m" {
		t.Errorf("in colour: %q", got)
	}
}

func TestDiffKeepsEveryWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 12)
		old, next := words.Draw(t, "old"), words.Draw(t, "new")
		var olds, news []string
		last := byte(0)
		for _, p := range diffWords(strings.Join(old, " "), strings.Join(next, " ")) {
			if p.sign == last {
				t.Fatalf("two pieces of %c in a row", p.sign)
			}
			last = p.sign
			if p.sign != '+' {
				olds = append(olds, p.text)
			}
			if p.sign != '-' {
				news = append(news, p.text)
			}
		}
		if got := strings.Join(olds, " "); got != strings.Join(old, " ") {
			t.Fatalf("the old text is %q, want %q", got, old)
		}
		if got := strings.Join(news, " "); got != strings.Join(next, " ") {
			t.Fatalf("the new text is %q, want %q", got, next)
		}
	})
	long := strings.Repeat("x y ", 2000)
	if got := diffWords("a "+long+"b", "c "+long+"d"); len(got) != 2 { // too much to compare word by word
		t.Errorf("%d pieces, want all that went and all that came", len(got))
	}
}
