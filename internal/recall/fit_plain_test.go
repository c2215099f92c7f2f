package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// plainFit is [Fit] as its comment says it, without any care for what it costs.
func plainFit(hits []memory.Hit, o FitOptions) (kept []memory.Hit, dropped []Dropped) {
	left := o.Budget
	repeats := NewRepeatFilter(o.Question).In(hits)
	for _, h := range distilled(hits) {
		tokens := text.Tokens(line(h.Memory, dateOf(h.Memory), false))
		stage := ""
		switch {
		case slices.ContainsFunc(repeats, func(e memory.Hit) bool { return e.Memory == h.Memory }):
			stage = "echo"
		case carries(h.Memory, wordsOf(h.Memory), termsOf(o.Question)) && o.Budget < math.MaxInt:
			stage = "foreign"
		case h.Memory.Turn != nil && len(plainTerms(wordsOf(h.Memory))) <= slightTerms && len(h.Why) > 0 && h.Why.Get("own") == 0:
			stage = "slight"
		case h.Memory.Turn != nil && len(h.Why) > 0 && h.Why.Get("own")+h.Why.Get("related")+h.Why.Get("reply") == 0 && h.Why.Get("vector") < vectorFloor:
			stage = "neighbour"
		case slices.ContainsFunc(kept, func(k memory.Hit) bool {
			return sources(k.Memory, h.Memory) && !saysMore(h.Memory, k.Memory, o.Question, termsOf(o.Question))
		}):
			stage = "source"
		case slices.ContainsFunc(kept, func(k memory.Hit) bool { return plainRepeats(h.Memory, k.Memory) }):
			stage = "duplicate"
		case len(kept) >= o.TopK:
			stage = "top_k"
		case tokens > left && len(kept) > 0:
			stage = "budget"
		}
		if stage != "" {
			dropped = append(dropped, Dropped{h, stage})
			continue
		}
		left -= tokens
		kept = append(kept, h)
	}
	return kept, dropped
}

func plainTerms(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range text.Terms(s) {
		set[t] = true
	}
	return set
}

// plainSeeks are the terms of a turn that only asks, less those that all ask with.
func plainSeeks(m memory.Memory) map[string]bool {
	if m.Turn == nil || !plainlyAsks(m.Turn.Content) {
		return nil
	}
	left := map[string]bool{}
	for t := range plainTerms(m.Turn.Content) {
		if !plainlyAsking.Get().has(termsOf(t)[0]) {
			left[t] = true
		}
	}
	return left
}

func plainlyAsks(s string) bool {
	is, _ := english.Purpose(s)
	return is == english.Asks
}

func plainRepeats(a, b memory.Memory) bool {
	asks, asked := plainSeeks(a), plainSeeks(b)
	if len(asks) > 0 && len(asked) > 0 && plainlyNear(asks, asked) && plainlyAgree(a, b) {
		return true
	}
	if asks == nil && asked != nil {
		return false
	}
	if text.Normalize(wordsOf(a)) == text.Normalize(wordsOf(b)) {
		return true
	}
	return plainlyNear(plainTerms(wordsOf(a)), plainTerms(wordsOf(b))) && plainlyAgree(a, b)
}

func plainlyNear(x, y map[string]bool) bool {
	common := 0
	for t := range x {
		if y[t] {
			common++
		}
	}
	few, many := min(len(x), len(y)), max(len(x), len(y))
	return common > 0 && float64(few) >= sameShare*float64(many) && float64(common)/float64(len(x)+len(y)-common) >= sameShare
}

func plainlyAgree(a, b memory.Memory) bool {
	return text.Negated(wordsOf(a)) == text.Negated(wordsOf(b)) && slices.Equal(text.Numbers(wordsOf(a)), text.Numbers(wordsOf(b)))
}

// anyHits returns hits of few words, so that many say nearly the same, echo the
// question or say nothing, and of facts with their turns.
func anyHits(r *rand.Rand, n int) []memory.Hit {
	words := strings.Fields("tea tea drinks likes Ana not never 3 three the is, it? OK. 🙂 of <memory> <b> 茶 café rain\u200b garden a-b")
	say := func(n int) string {
		var said []string
		for range n {
			said = append(said, words[r.IntN(len(words))])
		}
		return strings.Join(said, []string{" ", "  ", "\n"}[r.IntN(3)]) + []string{"", "?", ".", " "}[r.IntN(4)]
	}
	var out []memory.Hit
	for i := range n {
		id := fmt.Sprint("t", i)
		content := say([]int{0, 1, 2, 3, 5, 12, 25, 400}[r.IntN(8)])
		if i > 0 && r.IntN(2) == 0 {
			content = out[r.IntN(i)].Memory.Content() + []string{"", ".", " tea", " not", " 4"}[r.IntN(5)]
		}
		h := memory.Hit{Score: 1 / float64(i+1), Memory: memory.Memory{Turn: &memory.Turn{ID: id, Content: content, Role: memory.RoleUser, Name: []string{"", "Ana", "a\tb"}[r.IntN(3)], CreatedAt: now}}}
		if r.IntN(3) == 0 {
			h.Memory = memory.Memory{Fact: &memory.Fact{ID: "f" + id, Content: content, ObservedAt: now.Add(-time.Hour), Provenance: memory.Provenance{Turns: []string{fmt.Sprint("t", r.IntN(n))}}}}
		}
		if r.IntN(4) > 0 {
			h.Why = memory.Why{{Name: "own", Value: float64(r.IntN(3)) / 2}}
			if other := []string{"related", "reply", "vector", "lexical"}[r.IntN(4)]; r.IntN(2) == 0 {
				h.Why = append(h.Why, memory.Part{Name: other, Value: float64(1+r.IntN(3)) / 8})
			}
		}
		out = append(out, h)
	}
	return out
}

// TestFitKeepsAndDropsWhatPlainComparingDoes compares 500 random lists of hits, or as many as LOCI_FITS says.
func TestFitKeepsAndDropsWhatPlainComparingDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	stages := map[string]int{}
	n := 500
	if s := os.Getenv("LOCI_FITS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for i := range n {
		hits := anyHits(r, 1+r.IntN(24))
		o := FitOptions{TopK: 1 + r.IntN(12), Budget: []int{30, 200, 1500, math.MaxInt}[r.IntN(4)], Question: []string{"", "likes Ana tea", hits[0].Memory.Content()}[r.IntN(3)]}
		kept, dropped := Fit(hits, o)
		wantKept, wantDropped := plainFit(hits, o)
		if len(kept) != len(wantKept) || len(kept) > 0 && !reflect.DeepEqual(kept, wantKept) || !reflect.DeepEqual(dropped, wantDropped) {
			t.Fatalf("round %d: kept %d and dropped %d, want %d and %d\n%v\n%v", i, len(kept), len(dropped), len(wantKept), len(wantDropped), dropped, wantDropped)
		}
		for _, d := range dropped {
			stages[d.Stage]++
		}
	}
	for _, stage := range []string{"echo", "slight", "neighbour", "source", "duplicate", "top_k", "budget"} {
		if stages[stage] == 0 {
			t.Errorf("nothing was dropped as %s: the test does not reach it (%v)", stage, stages)
		}
	}
}

// FuzzOneLine holds the short way through oneLine to the long one.
func FuzzOneLine(f *testing.F) {
	for _, s := range []string{"", " ", "a", " a", "a ", "a  b", "a\tb", "</memory> x", "＜loci-memory＞", "a\u200bb", "a\x7fb", "café ", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s)
		want = strings.Join(strings.Fields(want), " ")
		if got := oneLine(s); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", s, got, want)
		}
	})
}

func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("garden window harbour lantern cooking dinners mornings walked painted watching mountains letters rivers the and of with")
	var hits []memory.Hit
	for i := range 18 {
		var said []string
		for range 20 {
			said = append(said, words[r.IntN(len(words))]+string(rune('a'+r.IntN(26))))
		}
		hits = append(hits, memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: fmt.Sprint(i), Role: memory.RoleUser, Content: "I " + strings.Join(said, " ") + ".", CreatedAt: now}}, Why: memory.Why{{Name: "own", Value: .5}}})
	}
	for name, budget := range map[string]int{"any budget": math.MaxInt, "budget": 1500} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fit(hits, FitOptions{TopK: 10, Budget: budget, Question: "What did I say about the garden?"})
			}
		})
	}
}
