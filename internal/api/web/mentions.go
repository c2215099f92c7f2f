package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

const (
	// mostMentions is how many memories are offered that have words of what is erased.
	mostMentions = 20

	// leastMention is the weight from which a memory is offered: that of a term of what is
	// erased which stands in three memories that stay, or of more common ones together.
	leastMention = 1.0 / 3
)

// mention is a memory that stays and the terms of what is erased that stand in it.
type mention struct {
	memory.Memory
	terms  map[string]bool
	weight float64
}

// mentioning returns turns and summaries that stay and have words of what goes,
// whatever became of them: those with the most and the rarest of its terms first, at
// most mostMentions. Facts of the same words go along anyway.
func (p *Page) mentioning(ctx context.Context, owner memory.Owner, gone []memory.Memory) ([]memory.Memory, error) {
	goes, said := map[string]bool{}, map[string]bool{}
	for _, m := range gone {
		goes[m.ID()] = true
		for _, t := range text.Terms(m.Content()) {
			said[t] = t != user
		}
	}
	var found []mention
	in := map[string]int{}
	for m, err := range memory.AllMemories(ctx, p.engine.Store.List, owner, memory.Query{Kinds: []memory.Kind{memory.KindTurn, memory.KindSummary}, Statuses: everyStatus}) {
		if err != nil {
			return nil, fmt.Errorf("find what mentions what is erased: %w", err)
		}
		if goes[m.ID()] {
			continue
		}
		one := mention{Memory: m, terms: map[string]bool{}}
		for _, t := range text.Terms(m.Content()) {
			if said[t] && !one.terms[t] {
				one.terms[t] = true
				in[t]++
			}
		}
		found = append(found, one)
	}
	for i, m := range found {
		for t := range m.terms {
			found[i].weight += 1 / float64(in[t])
		}
	}
	slices.SortStableFunc(found, func(a, b mention) int { return cmp.Compare(b.weight, a.weight) })
	var out []memory.Memory
	for _, m := range found[:min(len(found), mostMentions)] {
		if m.weight >= leastMention {
			out = append(out, m.Memory)
		}
	}
	return out, nil
}

// user is the term that facts call their owner by.
const user = "user"

// everyStatus is the statuses of all that there ever was.
var everyStatus = []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
