package index

import (
	"github.com/loci-memory/loci/internal/text"
)

// Whole says what an owner has of whom an index holds a part: words are weighed by
// that.
type Whole struct {
	Memories int
	Terms    map[string]int // in how many blended memories, by term
}

// Within says what all is that the items of an owner are part of. It is called before
// the first search.
func (x *Snapshot) Within(all Whole) {
	for _, sh := range x.shards {
		sh.whole = &all
	}
}

// spread returns in how many blended documents the words of list i are.
func (p *part) spread(i int) int {
	df := p.frequency(p.lists[i])
	if p.whole == nil {
		return df
	}
	all := 0
	if term := p.asked[i/2]; i%2 == 0 {
		all = p.whole.Terms[term]
	} else {
		for _, other := range text.Related(term) {
			all += p.whole.Terms[other]
		}
	}
	return max(df, min(p.whole.Memories, all))
}
