package index

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// offloadedPicks returns the results of the external search, s.Neighbors, that pass the filters, and
// marks them in vectorPicks.
func offloadedPicks(segments []*segment, s *memory.Search) (picks []scoredDoc) {
	for _, near := range s.Neighbors {
		k, _ := keyOf(near.ID)
		for i, p := range segments {
			n, ok := p.docByID[k]
			if !ok || !p.offloaded || p.ignoresVectors || p.owner() != near.Owner || !p.admits(n) || isMarked(p.vectorPicks, n) {
				continue
			}
			markDoc(p.vectorPicks, n)
			p.cosines[n] = near.Cosine
			picks = append(picks, scoredDoc{segmentIndex: int32(i), doc: n, score: near.Cosine, cosine: near.Cosine})
		}
	}
	return picks
}

// owner returns the owner of the contents, "" if there are no memories.
func (s *contents) owner() memory.Owner {
	if len(s.scopes) == 0 {
		return ""
	}
	return s.scopes[0].Owner
}

// VectorPickLimit returns how many candidates a search picks by vector.
func VectorPickLimit(s memory.Search) int {
	if s.Limit <= 0 {
		s.Limit = defaultLimit
	}
	return vectorPickLimit(&s)
}

// FilterMatches describes which of an owner's memories pass the filters of a search.
type FilterMatches struct {
	IDs   []string // ids of all matching memories; empty if there are more than the requested maximum
	Share float64  // share of the owner's memories that match; 0 if vectors are not used
}

// MatchFilter returns which memories of an owner with offloaded vectors pass the filters of a search; if more
// than maxIDs match, only their share.
func (ix *Index) MatchFilter(ctx context.Context, owner memory.Owner, s memory.Search, maxIDs int) (FilterMatches, error) {
	shards, err := ix.currentShards(ctx, []memory.Owner{owner})
	if err != nil || len(shards) == 0 {
		return FilterMatches{}, err
	}
	sh := shards[0]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if !sh.offloaded || sh.ignoresVectors || len(sh.docByID) == 0 {
		return FilterMatches{}, nil
	}
	p := segment{contents: &sh.contents, filter: newFilter(&sh.contents, &s)}
	if p.filter.allowAll {
		return FilterMatches{Share: 1}, nil
	}
	var passing []int32
	for n := range p.docs {
		if p.docs[n].row == offloadedRow && p.admits(int32(n)) {
			passing = append(passing, int32(n))
		}
	}
	out := FilterMatches{Share: float64(len(passing)) / float64(len(sh.docByID))}
	if len(passing) <= maxIDs {
		for _, n := range passing {
			out.IDs = append(out.IDs, sh.idOf(n))
		}
	}
	return out, nil
}

// SetVectors sets the vectors of an owner's candidates and, unless question is nil, their cosines with
// question, the question's vector. vectors are by memory id, in the format of [vector.Pack]. It sorts
// all candidates by their changed scores.
func SetVectors(candidates []memory.Candidate, owner memory.Owner, question []float32, vectors map[string][]uint16) {
	var rows [][]uint16
	var indexes []int
	for i := range candidates {
		if row := vectors[candidates[i].ID]; candidates[i].Owner == owner && len(row) > 0 {
			candidates[i].Vector = row
			if vector.Dims(row) == len(question) {
				rows, indexes = append(rows, row), append(indexes, i)
			}
		}
	}
	dots := make([]float32, len(rows))
	vector.DotEach(question, rows, dots)
	for j, i := range indexes {
		c := &candidates[i]
		c.Score += vectorShare * float64(max(0, dots[j])-max(0, c.Measures.Vector))
		c.Measures.Vector = dots[j]
	}
	slices.SortFunc(candidates, func(a, b memory.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Owner, b.Owner))
	})
}
