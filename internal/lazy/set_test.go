package lazy

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Package variables, as in other packages.
var (
	pattern = Compile(`^(?P<word>\w+)` + `,`)
	words   = Words("the a an the")
	upper   = SetOf("the a an", func(words string) map[string]bool { return wordSet(strings.ToUpper(words)) })
)

func TestSetsAreBuiltOnce(t *testing.T) {
	var made atomic.Int32
	set := SetOf("a b", func(words string) map[string]bool {
		made.Add(1)
		return wordSet(words)
	})
	if made.Load() != 0 {
		t.Error("something was made before anybody asked")
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if !set.Has("b") || set.Has("c") || !pattern.MatchString("so, what?") {
				t.Error("what was made is not what was asked for")
			}
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Errorf("a set was made %d times", made.Load())
	}
}

func TestSetsHaveTheirWords(t *testing.T) {
	if diff := cmp.Diff(map[string]bool{"the": true, "a": true, "an": true}, words.All()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if !upper.Has("THE") || upper.Has("the") || words.Has("") || words.Has("the a") {
		t.Errorf("%v and %v", upper.All(), words.All())
	}
}

// TestPatternsAreRegularExpressions compares each method with package regexp's.
func TestPatternsAreRegularExpressions(t *testing.T) {
	const s = "so, what, and so, on"
	p := Compile(`(?P<first>\w)(\w+),`)
	re := p.Regexp()
	for name, pair := range map[string][2]any{
		"Match":                      {p.Match([]byte(s)), re.Match([]byte(s))},
		"MatchString":                {p.MatchString(s), re.MatchString(s)},
		"FindString":                 {p.FindString(s), re.FindString(s)},
		"FindStringIndex":            {p.FindStringIndex(s), re.FindStringIndex(s)},
		"FindStringSubmatch":         {p.FindStringSubmatch(s), re.FindStringSubmatch(s)},
		"FindStringSubmatchIndex":    {p.FindStringSubmatchIndex(s), re.FindStringSubmatchIndex(s)},
		"FindAllStringIndex":         {p.FindAllStringIndex(s, 2), re.FindAllStringIndex(s, 2)},
		"FindAllStringSubmatch":      {p.FindAllStringSubmatch(s, -1), re.FindAllStringSubmatch(s, -1)},
		"FindAllStringSubmatchIndex": {p.FindAllStringSubmatchIndex(s, -1), re.FindAllStringSubmatchIndex(s, -1)},
		"ReplaceAllString":           {p.ReplaceAllString(s, "$first."), re.ReplaceAllString(s, "$first.")},
		"ReplaceAllStringFunc":       {p.ReplaceAllStringFunc(s, strings.ToUpper), re.ReplaceAllStringFunc(s, strings.ToUpper)},
		"Split":                      {p.Split(s, -1), re.Split(s, -1)},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-regexp +pattern):\n%s", name, diff)
		}
	}
}

func TestAWrongPatternPanicsWhenItIsAsked(t *testing.T) {
	p := Compile(`(`)
	defer func() {
		if recover() == nil {
			t.Error("it matched")
		}
	}()
	p.MatchString("(")
}
