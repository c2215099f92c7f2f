package recall

import (
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// FitOptions are the settings of [Fit]. The zero value means the defaults.
type FitOptions struct {
	TopK     int    // hits at most; 0: 8
	Budget   int    // tokens at most; 0: 1500, math.MaxInt: any
	Question string // what was asked; "": nothing in particular

	Contradicted func(memory.Hit) bool // whether a hit contradicts what the user says; nil: none does
}

// The defaults: a handful that a model reads with care, and room for some of them
// to be long.
const (
	DefaultTopK   = 8
	DefaultAsked  = 12 // where somebody asks on purpose
	DefaultBudget = 1500
)

// Dropped is a hit that was left out, and the stage that did it.
type Dropped struct {
	Hit   memory.Hit
	Stage string // "duplicate", "echo", "foreign", "slight", "neighbour", "source" (of a fact that says all of it), "top_k", "budget" or "contradicted"
}

// Fit returns the hits that go into the block, in their order, and those left out.
// What says the same as a better hit does not take room, but the user's own does not give
// way to what another shares. A fact stands in for the turn that it was learned from where that says no more. What others wrote and a turn hands on is left out of a prompt. A hit that is
// too long for what is left of the budget gives way to shorter ones after it; the first
// always stays.
func Fit(hits []memory.Hit, o FitOptions) (kept []memory.Hit, dropped []Dropped) {
	if o.TopK == 0 {
		o.TopK = DefaultTopK
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	left := o.Budget
	asked := termsOf(o.Question)
	told := make([]coverage, 0, min(o.TopK, len(hits))) // of those kept
	kept = make([]memory.Hit, 0, min(o.TopK, len(hits)))
	room := make(terms, 0, usualTerms*len(hits))
	known := toldIn(hits[:min(len(hits), o.TopK)], asked)
	for _, h := range hits {
		words := wordsOf(h.Memory)
		says := coverage{memory: h.Memory, content: words, terms: termsIn(room, words), shared: h.Memory.Link != nil}
		room = says.terms[len(says.terms):]
		if i := slices.IndexFunc(told, func(t coverage) bool { return says.learned(t, asked) }); i >= 0 {
			dropped = append(dropped, Dropped{kept[i], "source"})
			kept[i], told[i] = h, says
			continue
		}
		tokens := 0
		stage := ""
		switch {
		case saysAgain(h.Memory, says.terms, known):
			stage = "echo"
		case o.Budget < math.MaxInt && carries(h.Memory, words, asked):
			stage = "foreign"
		case slight(h, says.terms):
			stage = "slight"
		case besides(h):
			stage = "neighbour"
		case slices.ContainsFunc(told, func(t coverage) bool { return t.learned(says, asked) }):
			stage = "source"
		case slices.ContainsFunc(told, says.repeats):
			stage = "duplicate"
		case len(kept) >= o.TopK:
			stage = "top_k"
		case o.Budget < math.MaxInt:
			if tokens = tokensOf(h.Memory); tokens > left && len(kept) > 0 {
				stage = "budget"
			}
		}
		if stage == "" && o.Contradicted != nil && o.Contradicted(h) {
			stage = "contradicted"
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

// usualTerms is about how many terms a memory has.
const usualTerms = 16

// toldIn returns the terms of a question and of what the user tells, or facts say, among hits.
func toldIn(hits []memory.Hit, asked terms) terms {
	out := slices.Clone(asked)
	for _, h := range hits {
		if t := h.Memory.Turn; t == nil || t.Role == memory.RoleUser {
			out = text.TermHashes(out, h.Memory.Content())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// againShare is the share of the terms of a short answer of the assistant's that must be told beside
// it for the answer to say nothing else.
const againShare = 0.8

// saysAgain reports whether a turn, of these terms, is such an answer.
func saysAgain(m memory.Memory, said, known terms) bool {
	if m.Turn == nil || m.Turn.Role != memory.RoleAssistant || m.Turn.Name != "" || len(m.Turn.Content) > longestSlight || text.Negated(m.Turn.Content) {
		return false
	}
	again := 0
	for _, term := range said {
		if known.has(term) {
			again++
		}
	}
	return float64(again) >= againShare*float64(len(said))
}

// AsksWhy reports whether a question is for a reason: facts seldom have it, and the turns that they
// come from do.
func AsksWhy(question string) bool { return asksWhy.MatchString(question) }

var asksWhy = lazy.Compile(`(?i)\b(?:why|how come|reasons?|warum|wieso|weshalb|por qué|pourquoi)\b`)

// slightTerms is how many words say nothing by themselves: "OK.", "Sounds good!".
const slightTerms = 2

// slight reports whether a turn was found by its neighbours alone and is too short
// to say anything.
func slight(h memory.Hit, said terms) bool {
	return h.Memory.Turn != nil && len(said) <= slightTerms && len(h.Why) > 0 && h.Why.Get("own") == 0
}

// besides reports whether a turn has nothing to do with the question but that it
// stands beside what has: no word of it, none that is related, nothing near in meaning,
// nothing of the kind that is asked for, and it answers nobody who asked.
func besides(h memory.Hit) bool {
	if h.Memory.Turn == nil || len(h.Why) == 0 {
		return false
	}
	for _, asked := range [...]string{"cue.when", "cue.date_said", "cue.date_meant", "cue.class"} {
		if h.Why.Get(asked) > 0 {
			return false
		}
	}
	return h.Why.Get("own") == 0 && h.Why.Get("related") == 0 && h.Why.Get("reply") == 0 && h.Why.Get("vector") < vectorFloor
}

// sameShare is the share of words two texts have in common from which on one of
// them is enough, if they also agree in what a single word turns round.
const sameShare = 0.9

// coverage is what a text says, as far as comparing goes. Few texts are alike in
// their words; only of those the rest is read.
type coverage struct {
	memory  memory.Memory
	content string
	terms   terms
	shared  bool // another owner's
}

// learned reports whether a fact was learned from a turn that has at most one word more, and none that the question has.
func (t coverage) learned(turn coverage, asked terms) bool {
	if t.memory.Fact == nil || turn.memory.Turn == nil || !slices.Contains(t.memory.Fact.Provenance.Turns, turn.memory.Turn.ID) {
		return false
	}
	more := slices.DeleteFunc(slices.Clone(turn.terms), t.terms.has)
	return len(more) <= 1 && !slices.ContainsFunc(more, asked.has)
}

func (t coverage) repeats(other coverage) bool {
	if other.shared && !t.shared {
		return false // the user's own does not give way to another's
	}
	if len(t.terms)+len(other.terms) == 0 { // nothing but fillers or signs
		return text.Normalize(t.content) == text.Normalize(other.content)
	}
	return t.terms.near(other.terms) && t.agrees(other)
}

// agrees reports whether two texts of the same words mean the same by what a single
// word turns round.
func (t coverage) agrees(other coverage) bool {
	return text.Negated(t.content) == text.Negated(other.content) && slices.Equal(text.Numbers(t.content), text.Numbers(other.content))
}

// near reports whether two sets are of the same words but for one in many.
func (t terms) near(other terms) bool {
	few, many := min(len(t), len(other)), max(len(t), len(other))
	return float64(few) >= sameShare*float64(many) && t.overlap(other) >= sameShare
}
