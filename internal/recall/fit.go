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
	TopK     int    // maximum number of hits; 0 means 8
	Budget   int    // maximum number of tokens; 0 means 1500, math.MaxInt means no limit
	Question string // the question; "" means none

	IsContradicted func(memory.Hit) bool // reports whether a hit contradicts the user's message; nil means no check
}

// The defaults: few hits, which a model reads with care, and enough tokens for some long hits.
const (
	DefaultTopK       = 8
	DefaultSearchTopK = 12 // number of hits of an explicit search
	DefaultBudget     = 1500
)

// DroppedHit is a hit that was left out, with the stage that dropped it.
type DroppedHit struct {
	Hit   memory.Hit
	Stage string // "duplicate", "echo", "foreign", "slight", "neighbour", "source" (of a fact with the same content), "top_k", "budget" or "contradicted"
}

// Fit returns the hits for the block, in order, and the hits that it left out. It drops duplicates of better
// hits (but not the user's own memory if a shared memory says the same), turns whose content a learned fact
// has, and turns that are mostly quoted. A hit that exceeds the remaining budget is dropped, but shorter hits
// after it may still fit. The first hit is never dropped for its length.
func Fit(hits []memory.Hit, o FitOptions) (kept []memory.Hit, dropped []DroppedHit) {
	if o.TopK == 0 {
		o.TopK = DefaultTopK
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	remaining := o.Budget
	questionTerms := termsOf(o.Question)
	keptTexts := make([]comparedText, 0, min(o.TopK, len(hits))) // the texts of the hits kept so far
	kept = make([]memory.Hit, 0, min(o.TopK, len(hits)))
	buffer := make(terms, 0, usualTerms*len(hits))
	shown := questionAndUserTerms(hits[:min(len(hits), o.TopK)], questionTerms)
	for _, h := range hits {
		words := blockText(h.Memory)
		current := comparedText{memory: h.Memory, content: words, terms: termsInBuffer(buffer, words), isShared: h.Memory.Link != nil}
		buffer = current.terms[len(current.terms):]
		if i := slices.IndexFunc(keptTexts, func(t comparedText) bool { return current.isLearnedFrom(t, questionTerms) }); i >= 0 {
			dropped = append(dropped, DroppedHit{kept[i], "source"})
			kept[i], keptTexts[i] = h, current
			continue
		}
		tokens := 0
		stage := ""
		switch {
		case isRedundantAnswer(h.Memory, current.terms, shown):
			stage = "echo"
		case o.Budget < math.MaxInt && isMostlyQuoted(h.Memory, words, questionTerms):
			stage = "foreign"
		case isContentless(h, current.terms):
			stage = "slight"
		case isUnrelated(h):
			stage = "neighbour"
		case slices.ContainsFunc(keptTexts, func(t comparedText) bool { return t.isLearnedFrom(current, questionTerms) }):
			stage = "source"
		case slices.ContainsFunc(keptTexts, current.isRedundantWith):
			stage = "duplicate"
		case len(kept) >= o.TopK:
			stage = "top_k"
		case o.Budget < math.MaxInt:
			if tokens = tokenCountOf(h.Memory); tokens > remaining && len(kept) > 0 {
				stage = "budget"
			}
		}
		if stage == "" && o.IsContradicted != nil && o.IsContradicted(h) {
			stage = "contradicted"
		}
		if stage != "" {
			dropped = append(dropped, DroppedHit{h, stage})
			continue
		}
		remaining -= tokens
		kept, keptTexts = append(kept, h), append(keptTexts, current)
	}
	return kept, dropped
}

// usualTerms is the typical number of terms of a memory.
const usualTerms = 16

// questionAndUserTerms returns the terms of a question and of the user's turns and facts among the hits.
func questionAndUserTerms(hits []memory.Hit, questionTerms terms) terms {
	out := slices.Clone(questionTerms)
	for _, h := range hits {
		if t := h.Memory.Turn; t == nil || t.Role == memory.RoleUser {
			out = text.TermHashes(out, h.Memory.Content())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// redundantAnswerShare is the minimum share of an assistant's short answer, in terms, that the question and the user's
// hits must have to make the answer redundant.
const redundantAnswerShare = 0.8

// isRedundantAnswer reports whether a turn is an assistant's short answer whose terms are nearly all in otherTerms.
func isRedundantAnswer(m memory.Memory, answerTerms, otherTerms terms) bool {
	if m.Turn == nil || m.Turn.Role != memory.RoleAssistant || m.Turn.Name != "" || len(m.Turn.Content) > maxEmptyAnswerBytes || text.HasNegation(m.Turn.Content) {
		return false
	}
	repeatedCount := 0
	for _, term := range answerTerms {
		if otherTerms.has(term) {
			repeatedCount++
		}
	}
	return float64(repeatedCount) >= redundantAnswerShare*float64(len(answerTerms))
}

// AsksWhy reports whether a question asks for a reason, which facts seldom state but their turns do.
func AsksWhy(question string) bool { return asksWhy.MatchString(question) }

var asksWhy = lazy.Compile(`(?i)\b(?:why|how come|reasons?|warum|wieso|weshalb|por qué|pourquoi)\b`)

// maxSlightTerms is the maximum number of terms of a reply without content: "OK.", "Sounds good!".
const maxSlightTerms = 2

// isContentless reports whether a turn is too short to have content and was found only because of its neighbours.
func isContentless(h memory.Hit, contentTerms terms) bool {
	return h.Memory.Turn != nil && len(contentTerms) <= maxSlightTerms && len(h.Why) > 0 && h.Why.Get("own") == 0
}

// isUnrelated reports whether only the neighbours of a turn relate to the question. The turn itself has no
// word or synonym of the question, no similar meaning, no thing of the requested kind, and is no reply.
func isUnrelated(h memory.Hit) bool {
	if h.Memory.Turn == nil || len(h.Why) == 0 {
		return false
	}
	for _, cueName := range [...]string{"cue.when", "cue.date_said", "cue.date_meant", "cue.class"} {
		if h.Why.Get(cueName) > 0 {
			return false
		}
	}
	return h.Why.Get("own") == 0 && h.Why.Get("related") == 0 && h.Why.Get("reply") == 0 && h.Why.Get("vector") < vectorFloor
}

// duplicateShare is the minimum share of common words of two redundant texts. Negations and numbers must also agree.
const duplicateShare = 0.9

// comparedText is a memory's text prepared for comparisons with other texts.
type comparedText struct {
	memory   memory.Memory
	content  string
	terms    terms
	isShared bool // the memory belongs to another owner
}

// isLearnedFrom reports whether t is a fact from turn, which adds at most one word and no word of the question.
func (t comparedText) isLearnedFrom(turn comparedText, questionTerms terms) bool {
	if t.memory.Fact == nil || turn.memory.Turn == nil || !slices.Contains(t.memory.Fact.Provenance.Turns, turn.memory.Turn.ID) {
		return false
	}
	extraTerms := slices.DeleteFunc(slices.Clone(turn.terms), t.terms.has)
	return len(extraTerms) <= 1 && !slices.ContainsFunc(extraTerms, questionTerms.has)
}

func (t comparedText) isRedundantWith(other comparedText) bool {
	if other.isShared && !t.isShared {
		return false // the user's own memory is kept, although a shared memory says the same
	}
	if len(t.terms)+len(other.terms) == 0 { // both texts have only fillers or punctuation
		return text.Normalize(t.content) == text.Normalize(other.content)
	}
	return t.terms.nearlyEquals(other.terms) && t.sameNegationAndNumbers(other)
}

// sameNegationAndNumbers reports whether two texts have the same polarity and numbers.
func (t comparedText) sameNegationAndNumbers(other comparedText) bool {
	return text.HasNegation(t.content) == text.HasNegation(other.content) && slices.Equal(text.Numbers(t.content), text.Numbers(other.content))
}

// nearlyEquals reports whether two sets have the same words except for a small share.
func (t terms) nearlyEquals(other terms) bool {
	few, many := min(len(t), len(other)), max(len(t), len(other))
	return float64(few) >= duplicateShare*float64(many) && t.overlap(other) >= duplicateShare
}
