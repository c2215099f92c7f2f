package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// plainFit is [Fit] as its comment says it, without any care for what it costs.
func plainFit(hits []memory.Hit, o FitOptions) (kept []memory.Hit, dropped []Dropped) {
	left := o.Budget
	asked := plainTerms(o.Question)
	for _, h := range distilled(hits) {
		tokens := text.Tokens(line(h.Memory))
		stage := ""
		switch {
		case plainEcho(h.Memory, asked):
			stage = "echo"
		case h.Memory.Turn != nil && len(plainTerms(h.Memory.Content())) <= slightTerms && len(h.Why) > 0 && h.Why.Get("own") == 0:
			stage = "slight"
		case h.Memory.Turn != nil && len(h.Why) > 0 && h.Why.Get("own")+h.Why.Get("related")+h.Why.Get("reply") == 0 && h.Why.Get("vector") < vectorFloor:
			stage = "neighbour"
		case slices.ContainsFunc(kept, func(k memory.Hit) bool { return sources(k.Memory, h.Memory) }):
			stage = "source"
		case slices.ContainsFunc(kept, func(k memory.Hit) bool { return plainRepeats(h.Memory.Content(), k.Memory.Content()) }):
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

func plainEcho(m memory.Memory, asked map[string]bool) bool {
	if m.Turn == nil || len(asked) == 0 || !text.Asks(m.Turn.Content) {
		return false
	}
	ignored := plainTerms("now still again currently today please actually really ok")
	for t := range plainTerms(m.Turn.Content) {
		if !asked[t] && !ignored[t] {
			return false
		}
	}
	return true
}

func plainRepeats(a, b string) bool {
	if text.Normalize(a) == text.Normalize(b) {
		return true
	}
	x, y := plainTerms(a), plainTerms(b)
	common := 0
	for t := range x {
		if y[t] {
			common++
		}
	}
	few, many := min(len(x), len(y)), max(len(x), len(y))
	return common > 0 && float64(few) >= sameShare*float64(many) && float64(common)/float64(len(x)+len(y)-common) >= sameShare &&
		text.Negated(a) == text.Negated(b) && slices.Equal(text.Numbers(a), text.Numbers(b))
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

func TestFitKeepsAndDropsWhatPlainComparingDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	stages := map[string]int{}
	for i := range 3000 {
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
		want = fenceTag.ReplaceAllString(strings.Join(strings.Fields(want), " "), "‹$1")
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
