package learn

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// pair is what was said and a fact.
type pair struct{ said, fact string }

func readPairs(t *testing.T, file string) []pair {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out []pair
	for line := range strings.Lines(string(b)) {
		if said, fact, ok := strings.Cut(strings.TrimSpace(line), " => "); ok && !strings.HasPrefix(line, "#") {
			out = append(out, pair{said, fact})
		}
	}
	return out
}

// supported reports whether the fact would be active, with the whole turn as its
// quote or without one.
func supported(p pair, quote string) bool {
	said := Guard([]memory.Turn{{ID: "T", Role: memory.RoleUser, Content: p.said, CreatedAt: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}}, GuardOptions{})
	kept, _ := Filter([]Candidate{{Text: p.fact, Quote: quote, Turn: "t1", Confidence: 1}}, said)
	return len(kept) == 1 && kept[0].Waits == ""
}

// TestNothingUnsupportedIsActive: a false accept is worse than a right fact that
// waits for a person.
func TestNothingUnsupportedIsActive(t *testing.T) {
	pairs := readPairs(t, "support_wrong.txt")
	for _, p := range pairs {
		if supported(p, "") || supported(p, p.said) {
			t.Errorf("%q is taken to support %q", p.said, p.fact)
		}
	}
	if len(pairs) < 120 {
		t.Errorf("%d rows, want 120", len(pairs))
	}
}

// TestRightFactsSeldomWait measures the price of distrust.
func TestRightFactsSeldomWait(t *testing.T) {
	pairs := readPairs(t, "support_right.txt")
	waiting := 0
	for _, p := range pairs {
		if !supported(p, p.said) {
			waiting++
			t.Logf("waits: %q => %q", p.said, p.fact)
		}
	}
	t.Logf("%d of %d right facts wait for a person (%.1f %%)", waiting, len(pairs), 100*float64(waiting)/float64(len(pairs)))
	if len(pairs) < 150 || waiting*20 > len(pairs) {
		t.Errorf("%d of %d wait, want one in twenty at most of 150", waiting, len(pairs))
	}
}

// TestFreshParaphrases measures on rows of sixty sentences, with the
// whole turn as their quote and without one.
func TestFreshParaphrases(t *testing.T) {
	const most, least = 6, 49 // of sixty: wrong ones active, right ones active
	right, wrong := 0, 0
	for _, p := range readPairs(t, "support_fresh_right.txt") {
		if supported(p, p.said) {
			right++
		} else {
			t.Logf("waits: %q => %q", p.said, p.fact)
		}
	}
	for _, p := range readPairs(t, "support_fresh_wrong.txt") {
		if supported(p, "") || supported(p, p.said) {
			wrong++
			t.Logf("taken to support: %q => %q", p.said, p.fact)
		}
	}
	t.Logf("%d right and %d wrong ones are active", right, wrong)
	if right < least || wrong > most {
		t.Errorf("%d right and %d wrong ones are active, want at least %d and at most %d", right, wrong, least, most)
	}
}

func BenchmarkFilter(b *testing.B) {
	short := "I moved to Lisbon in May with my brother Tom. He works at Acme, and I teach maths at a school near the river. We have two cats."
	for name, turn := range map[string]string{"a turn": short, "32 KiB": strings.Repeat(short+"\n", 256), "32 KiB, all alike": strings.Repeat("I like Lisbon, ", 2200)} {
		b.Run(name, func(b *testing.B) {
			said := []Said{{Turn: memory.Turn{ID: "T", Role: memory.RoleUser, Content: turn}, Text: turn}}
			cands := []Candidate{{Text: "User lives in Lisbon"}, {Text: "User's brother Tom works at Acme"}, {Text: "User likes the opera in Lisbon"}}
			for b.Loop() {
				Filter(cands, said)
			}
		})
	}
}

func FuzzSupport(f *testing.F) {
	f.Add("My wife and I moved to Oslo in 2020, where she works", "User and User's wife moved to Oslo in 2020")
	f.Add("I'm 34 \xff and “Ünal” lives with me?", "User's brother ÜNAL is 34, and likes tea over coffee")
	f.Fuzz(func(t *testing.T, said, fact string) {
		turn := Said{Turn: memory.Turn{ID: "T", Role: memory.RoleUser, Content: said}, Text: said}
		kept, _ := Filter([]Candidate{{Text: fact, Quote: said}, {Text: fact}}, []Said{turn})
		for _, c := range kept {
			if c.Span != nil && (c.Span.Start < 0 || c.Span.End > len(said) || c.Span.Start > c.Span.End) {
				t.Fatalf("%q is supported by %+v of %q", fact, c.Span, said)
			}
			if c.Waits == "" && c.Span == nil {
				t.Fatalf("%q is supported by nothing in %q", fact, said)
			}
		}
	})
}
