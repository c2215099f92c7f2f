package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Measure is one score of a group of questions.
type Measure struct {
	Questions int
	Recall    float64 // fraction of the gold among the first 10
	MRR       float64 // 1 / rank of the first gold among the first 20
}

func add(m *Measure, recall, reciprocal float64) {
	m.Questions++
	m.Recall += recall
	m.MRR += reciprocal
}

// mean returns the sums of m by question.
func (m Measure) mean() Measure {
	if m.Questions > 0 {
		m.Recall /= float64(m.Questions)
		m.MRR /= float64(m.Questions)
	}
	return m
}

// score returns recall and reciprocal rank of a list without repeats.
func score(found, gold []string) (recall, reciprocal float64) {
	o := Outcome{Ranks: make([]int, len(gold))}
	for i, g := range gold {
		o.Ranks[i] = slices.Index(found, g) + 1
	}
	if len(gold) == 0 {
		return 0, 0
	}
	return o.value("fraction@10"), o.reciprocal()
}

// units returns what was found in the unit of the gold, in order.
func units(c Conversation, found []Found) []string {
	out := make([]string, len(found))
	session := map[string]string{}
	if c.Sessions {
		for _, t := range c.Turns {
			session[t.Ref] = t.Session
		}
	}
	for i, f := range found {
		out[i] = f.Ref
		if c.Sessions {
			out[i] = session[f.Ref]
		}
	}
	return out
}

// distinct returns list with only the first of equals.
func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func ownerOf(set Dataset, i int) memory.Owner {
	return memory.User(memory.DefaultNamespace, fmt.Sprintf("%s-%d", set.Name, i))
}

func best(found []Found) float64 {
	if len(found) == 0 {
		return 0
	}
	return found[0].Score
}

func speakers(c Conversation) []string {
	var out []string
	for _, t := range c.Turns {
		if t.Name != "" && !slices.Contains(out, t.Name) {
			out = append(out, t.Name)
		}
	}
	return out
}

func swap(from, to []string) *strings.Replacer {
	var pairs []string
	for i := range min(len(from), len(to)) {
		pairs = append(pairs, from[i], to[i])
	}
	return strings.NewReplacer(pairs...)
}
