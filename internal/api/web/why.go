package web

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// scoreBar explains a score as a stacked bar. The segments' sizes add up to the score; the full bar is 1.
type scoreBar struct {
	Score    float64
	Core     bool // the memory is in every prompt, so it has no search score
	Segments []segment
	Reasons  string // reasons for the score, in plain words
	Numbers  string // all values of the score, in the order of the stages
}

// segment is the part of a score bar for one kind of reason. From and Size are shares of the full bar, 0 to 1.
type segment struct {
	Name, Class string // name of the reasonKind, and CSS class
	From, Size  float64
}

// reasonKind groups cues of the ranking under one name. If cues is nil, the group contains all cues of no other group.
type reasonKind struct {
	name, class string
	cues        []string
}

// reasonKinds are the kinds of reason. The last covers the person, time, number or place that a question asks for.
var reasonKinds = []reasonKind{
	{"words", "w-words", []string{"words", "related", "class", "title", "peak"}},
	{"meaning", "w-vector", []string{"vector"}},
	{"nearby messages", "w-talk", []string{"session", "topic", "reply", "opens"}},
	{"the kind of thing asked for", "w-asked", nil},
}

// scoreBarOf splits a score into recency, with its weight of 0 to 1, and relevance, which it divides by kinds of cues.
func scoreBarOf(score float64, why memory.Why, recencyWeight float64) *scoreBar {
	b := &scoreBar{Score: score, Reasons: recall.ReasonText(why), Numbers: recall.PartsText(why), Core: why.Get("core") > 0}
	sums, sum := make([]float64, len(reasonKinds)), 0.0
	for _, part := range why {
		cue, ok := strings.CutPrefix(part.Name, "cue.")
		if !ok || part.Value <= 0 {
			continue
		}
		i := slices.IndexFunc(reasonKinds, func(r reasonKind) bool { return r.cues == nil || slices.Contains(r.cues, cue) })
		sums[i] += part.Value
		sum += part.Value
	}
	relevant, recent := (1-recencyWeight)*why.Get("relevance"), recencyWeight*why.Get("recency")
	length := min(max(score, 0), 1)
	if relevant+recent <= 0 || sum <= 0 {
		b.addSegment("score", "w-words", length)
		return b
	}
	unit := length / (relevant + recent)
	for i, r := range reasonKinds {
		b.addSegment(r.name, r.class, unit*relevant*sums[i]/sum)
	}
	b.addSegment("recency", "w-recency", unit*recent)
	return b
}

func (b *scoreBar) addSegment(name, class string, size float64) {
	if size < 0.005 {
		return
	}
	from := 0.0
	if n := len(b.Segments); n > 0 {
		from = b.Segments[n-1].From + b.Segments[n-1].Size
	}
	b.Segments = append(b.Segments, segment{name, class, from, size})
}

// omissionReasons describe, by the name of a ranking stage, why a search omitted a memory.
var omissionReasons = map[string]string{
	"answered": "nothing answers the question well enough", "threshold": "not relevant enough", "limit": "other memories are better",
	"duplicate": "repeats a better memory", "echo": "only repeats the question", "slight": "has almost no content",
	"neighbour": "not relevant itself: only next to a relevant turn",
	"source":    "repeats the turn that it was learned from, or a fact learned from it", "top_k": "the requested number was reached", "budget": "over the token budget",
	"core": "over the token budget", "carried": "already in the request", "contradicted": "a fact of your own contradicts it",
}
