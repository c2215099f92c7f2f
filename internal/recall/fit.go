package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// FitOptions are the settings of [Fit]. The zero value means the defaults.
type FitOptions struct {
	TopK     int    // hits at most; 0: 8
	Budget   int    // tokens at most; 0: 1500
	Question string // what was asked; "": nothing in particular
}

// The defaults: a handful that a model reads with care, and room for some of them
// to be long.
const (
	DefaultTopK   = 8
	DefaultBudget = 1500
)

// Dropped is a hit that was left out, and the stage that did it.
type Dropped struct {
	Hit   memory.Hit
	Stage string // "duplicate", "echo", "slight", "source" (of a fact that stays, or the other way round), "top_k" or "budget"
}

// Fit returns the hits that go into the block, in their order, and those left out.
// What says the same as a better hit does not take room. Of a fact and the turn
// that it came from only one does: the fact if it answers nearly as well, since it
// is short and kept up to date, else the better one. A hit that is too long for what is
// left of the budget gives way to shorter ones after it; the first always stays.
func Fit(hits []memory.Hit, o FitOptions) (kept []memory.Hit, dropped []Dropped) {
	if o.TopK == 0 {
		o.TopK = DefaultTopK
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	left := o.Budget
	asked := termSet(o.Question)
	var told []telling // of those kept
	for _, h := range distilled(hits) {
		says := tell(h.Memory.Content())
		tokens := text.Tokens(line(h.Memory))
		stage := ""
		switch {
		case echoes(h.Memory, says.terms, asked):
			stage = "echo"
		case slight(h, says.terms):
			stage = "slight"
		case slices.ContainsFunc(kept, func(k memory.Hit) bool { return sources(k.Memory, h.Memory) }):
			stage = "source"
		case slices.ContainsFunc(told, says.repeats):
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
		kept, told = append(kept, h), append(told, says)
	}
	return kept, dropped
}

// asGood is the share of its turn's own words for the question that a fact must
// have to stand in for the turn.
const asGood = 0.8

// distilled puts facts in front of the turns that they can stand in for.
func distilled(hits []memory.Hit) []memory.Hit {
	out := slices.Clone(hits)
	for i := range out {
		if out[i].Memory.Turn == nil {
			continue
		}
		for j := i + 1; j < len(out); j++ {
			if own := out[j].Why.Get("own"); own > 0 && own >= asGood*out[i].Why.Get("own") && sources(out[j].Memory, out[i].Memory) {
				fact := out[j]
				copy(out[i+1:j+1], out[i:j])
				out[i] = fact
				break
			}
		}
	}
	return out
}

// sources reports whether one of two memories is a fact that was learned from the
// other.
func sources(a, b memory.Memory) bool {
	if a.Fact == nil {
		a, b = b, a
	}
	return a.Fact != nil && b.Turn != nil && slices.Contains(a.Fact.Provenance.Turns, b.Turn.ID)
}

// echoes reports whether a turn is a question of which every word was asked now.
func echoes(m memory.Memory, terms, asked map[string]bool) bool {
	if m.Turn == nil || len(asked) == 0 || !text.Asks(m.Turn.Content) {
		return false
	}
	for t := range terms {
		if !asked[t] && !fillers[t] {
			return false
		}
	}
	return true
}

// fillers change nothing about what a question asks.
var fillers = termSet("now still again currently today please actually really ok")

// slightTerms is how many words say nothing by themselves: "OK.", "Sounds good!".
const slightTerms = 2

// slight reports whether a turn was found by its neighbours alone and is too short
// to say anything.
func slight(h memory.Hit, terms map[string]bool) bool {
	return h.Memory.Turn != nil && len(terms) <= slightTerms && len(h.Why) > 0 && h.Why.Get("own") == 0
}

func termSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range text.Terms(s) {
		set[t] = true
	}
	return set
}

// sameShare is the share of words two texts have in common from which on one of
// them is enough, if they also agree in what a single word turns round.
const sameShare = 0.9

// telling is what a text says, as far as comparing goes.
type telling struct {
	normal  string
	terms   map[string]bool
	negated bool
	numbers []string
}

func tell(content string) telling {
	return telling{text.Normalize(content), termSet(content), text.Negated(content), text.Numbers(content)}
}

func (t telling) repeats(other telling) bool {
	if t.normal == other.normal {
		return true
	}
	few, many := min(len(t.terms), len(other.terms)), max(len(t.terms), len(other.terms))
	return float64(few) >= sameShare*float64(many) && overlap(t.terms, other.terms) >= sameShare &&
		t.negated == other.negated && slices.Equal(t.numbers, other.numbers)
}

// overlap is the share of all their words that two sets have in common.
func overlap(a, b map[string]bool) float64 {
	common := 0
	for t := range a {
		if b[t] {
			common++
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(a)+len(b)-common)
}
