package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// BuildExcerpt returns an index of some of what an owner has, by which the same memories
// get the same numbers as by an index of all: words are weighed by what the whole has, and
// lengths compared with the whole's. What is only beside what was found is not shown.
func BuildExcerpt(e memory.Excerpt) *Snapshot {
	snap := Build(e.Items)
	for _, sh := range snap.shards {
		sh.excerpt(&e)
	}
	return snap
}

func (s *contents) excerpt(e *memory.Excerpt) {
	s.whole = &e.Whole
	for n := range s.docs {
		if s.kinds[n] != 0 && e.Beside[s.id(int32(n))] {
			s.beside = append(s.beside, int32(n))
		}
	}
	for kind := fact; kind <= summary; kind++ {
		all := e.Whole.Kinds[kindNames[kind]]
		s.count[kind], s.words[kind], s.total[kind] = all.Memories, all.Length, all.Length*ownShare
	}
	s.total[turn] += aroundAll(&e.Whole)
}

// aroundAll is what turns count for the turns around them, in units: each as often as
// shares says before it and behind it, but for those near an end of their conversation.
func aroundAll(whole *memory.Whole) int64 {
	sum := int64(0)
	for i, share := range shares {
		sum += 2 * int64(share) * whole.Kinds[memory.KindTurn].Length
		for _, length := range whole.Ends[:i+1] {
			sum -= int64(share) * length
		}
	}
	return sum
}

// spread returns in how many blended documents the words of list i are.
func (p *segment) spread(i int) int {
	df := p.frequency(p.lists[i])
	if p.whole == nil {
		return df
	}
	all, term := 0, p.asked[i/2]
	if i%2 == 0 {
		for _, t := range append([]string{term}, p.whole.Meant[term]...) {
			all += p.whole.Terms[t]
		}
	} else {
		for _, t := range append([]string{term}, p.whole.Tabled[term]...) {
			for _, other := range text.Related(t) {
				if !slices.Contains(p.asked, other) {
					all += p.whole.Terms[other]
				}
			}
		}
	}
	return max(df, min(p.whole.Memories(), all))
}
