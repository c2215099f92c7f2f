package lazy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRequired(t *testing.T) {
	for expr, want := range map[string]needs{
		`^user (?:has )?moved out\b`:       {one: []string{"moved out"}},
		`^(?:user|they) (?:quit|gave up) `: {one: []string{"quit", "gave up"}},
		`(?:two|three|four) (?:cats|dogs)`: {one: []string{"cats", "dogs"}},
		`(?i)\b(?:used to|formerly)\b`:     {one: []string{"used to", "formerly"}, fold: true},
		`(?:no longer|longer)`:             {one: []string{"longer"}},
		`(?:lives in){2,}`:                 {one: []string{"lives in"}},
		`(?:lives in)?`:                    {},
		`a|bc`:                             {}, // in most text
		`(?i)café`:                         {}, // either case of what is not ASCII
		`\d+`:                              {},
	} {
		got := required(expr)
		slices.Sort(got.one)
		slices.Sort(want.one)
		if !slices.Equal(got.one, want.one) || got.fold != want.fold {
			t.Errorf("%s: got %q, %t, want %q, %t", expr, got.one, got.fold, want.one, want.fold)
		}
	}
}

// TestAPatternFindsWhatItsExpressionFinds has each pattern of the house find text that its
// expression was made to match, in either case and with what else folds to ASCII.
func TestAPatternFindsWhatItsExpressionFinds(t *testing.T) {
	all, _ := expressions(t)
	said, told := 0, 0
	for _, e := range all {
		expr := e.text
		form, pat := regexp.MustCompile(expr), Compile(expr)
		pat.Regexp()
		if said++; pat.needs.one != nil {
			told++
		}
		rapid.Check(t, func(t *rapid.T) {
			s := rapid.StringMatching(strings.NewReplacer(`\b`, ``, `\pL`, `[a-zé]`, `[^\n`, `[^\n\x00`).Replace(expr)).Draw(t, "s")
			change := rapid.SampledFrom([]func(string) string{
				func(s string) string { return s }, strings.ToUpper, strings.Title, //nolint:staticcheck // of words, as they come
				func(s string) string { return strings.ReplaceAll(s, "k", "K") },
				func(s string) string { return "Anna said: " + s + ", she thinks." },
			}).Draw(t, "change")
			if s = change(s); form.MatchString(s) != pat.MatchString(s) {
				t.Errorf("%s: in %q the expression matches: %t, the pattern: %t", expr, s, form.MatchString(s), pat.MatchString(s))
			}
		})
	}
	if told < said/2 {
		t.Errorf("of %d patterns %d need a word, want half of them at the least", said, told)
	}
}
