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

	// rareTerm is in how many turns and summaries, of those that stay, a term of what is
	// erased may stand and still tell it alone; of others it takes two in a row.
	rareTerm = 3
)

// mention is a memory that stays and the terms of what is erased that stand in it.
type mention struct {
	memory.Memory
	terms map[string]bool
	row   bool // two stand in a row there as they did
}

// mentioning returns turns and summaries that stay and have words of what goes,
// whatever became of them: those with the most and the rarest of its terms first, at
// most mostMentions. Facts of the same words go along anyway.
func (p *Page) mentioning(ctx context.Context, owner memory.Owner, gone []memory.Memory) ([]memory.Memory, error) {
	goes, said, pairs := map[string]bool{}, map[string]bool{}, map[[2]string]bool{}
	for _, m := range gone {
		goes[m.ID()] = true
		terms := text.Terms(m.Content())
		for i, t := range terms {
			said[t] = true
			if i > 0 {
				pairs[[2]string{terms[i-1], t}] = true
			}
		}
	}
	said[user] = false // facts call their owner so
	var found []mention
	in := map[string]int{}
	q := memory.Query{Kinds: []memory.Kind{memory.KindTurn, memory.KindSummary}, Statuses: everyStatus}
	if len(said) < 2 {
		return nil, nil
	}
	for m, err := range memory.AllMemories(ctx, p.engine.Store.List, owner, q) {
		if err != nil {
			return nil, fmt.Errorf("find what mentions what is erased: %w", err)
		}
		if goes[m.ID()] {
			continue
		}
		one, last := mention{m, map[string]bool{}, false}, ""
		for _, t := range text.Terms(m.Content()) {
			if said[t] {
				one.terms[t] = true
				one.row = one.row || pairs[[2]string{last, t}] && last != user
			}
			last = t
		}
		for t := range one.terms {
			in[t]++
		}
		if len(one.terms) > 0 {
			found = append(found, one)
		}
	}
	weight := func(m mention) (sum float64) {
		for t := range m.terms {
			sum += 1 / float64(in[t])
		}
		return sum
	}
	found = slices.DeleteFunc(found, func(m mention) bool {
		for t := range m.terms {
			if in[t] <= rareTerm {
				return false
			}
		}
		return !m.row
	})
	slices.SortStableFunc(found, func(a, b mention) int { return cmp.Compare(weight(b), weight(a)) })
	var out []memory.Memory
	for _, m := range found[:min(len(found), mostMentions)] {
		out = append(out, m.Memory)
	}
	return out, nil
}

// user is the term that facts call their owner by.
const user = "user"

// everyStatus is the statuses of all that there ever was.
var everyStatus = []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
