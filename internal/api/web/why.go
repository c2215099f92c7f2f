package web

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// scoreBar explains a score as a stacked bar. The segments' sizes add up to the score; the full bar is 1.
type bar struct {
	Score    float64
	Core     bool // the memory is in every prompt, so it has no search score
	Segments []segment
	Reasons  string // reasons for the score, in plain words
	Numbers  string // all values of the score, in the order of the stages
}

// segment is the part of a score bar for one kind of reason. From and Size are shares of the full bar, 0 to 1.
type segment struct {
	Name, Class string
	From, Size  float64
}

// reasonKind groups ranking cues under one name; nil cues means all remaining cues.
type reason struct {
	name, class string
	cues        []string
}

// reasonKinds are the kinds of reason. The last covers the person, time, number or place that a question asks for.
var reasons = []reason{
	{"words", "w-words", []string{"words", "related", "class", "title", "peak"}},
	{"meaning", "w-vector", []string{"vector"}},
	{"nearby messages", "w-talk", []string{"session", "topic", "reply", "opens"}},
	{"what is asked for", "w-asked", nil},
}

// scoreBarOf splits a score into relevance, by the cues that favor the memory, and recency (weight 0 to 1).
func barOf(score float64, why memory.Why, recency float64) *bar {
	b := &bar{Score: score, Reasons: recall.Reasons(why), Numbers: recall.Numbers(why), Core: why.Get("core") > 0}
	shares, sum := make([]float64, len(reasons)), 0.0
	for _, part := range why {
		cue, ok := strings.CutPrefix(part.Name, "cue.")
		if !ok || part.Value <= 0 {
			continue
		}
		i := slices.IndexFunc(reasons, func(r reason) bool { return r.cues == nil || slices.Contains(r.cues, cue) })
		shares[i] += part.Value
		sum += part.Value
	}
	relevant, recent := (1-recency)*why.Get("relevance"), recency*why.Get("recency")
	length := min(max(score, 0), 1)
	if relevant+recent <= 0 || sum <= 0 {
		b.add("score", "w-words", length)
		return b
	}
	unit := length / (relevant + recent)
	for i, r := range reasons {
		b.add(r.name, r.class, unit*relevant*shares[i]/sum)
	}
	b.add("recency", "w-recency", unit*recent)
	return b
}

func (b *bar) add(name, class string, size float64) {
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
var stages = map[string]string{
	"answered": "nothing answers the question well enough", "threshold": "not relevant enough", "limit": "other memories are better",
	"duplicate": "repeats a better memory", "echo": "only repeats the question", "slight": "has almost no content",
	"neighbour": "only next to a relevant turn",
	"source":    "repeats its fact or its turn", "top_k": "the requested number was reached", "budget": "over the token budget",
	"core": "over the token budget", "carried": "already in the request", "contradicted": "a fact of your own contradicts it",
}
