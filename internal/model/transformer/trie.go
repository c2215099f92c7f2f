package transformer

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
)

// trie finds tokens by their bytes. The children of a node are adjacent and ordered by byte, followed by the
// children of the next node.
type trie struct {
	label []byte  // byte that leads to each node; node 0 is the root
	first []int32 // index of each node's first child, with one extra entry at the end
	id    []int32 // number of the token that ends at each node; -1 means none
}

// maxTrieNodes is the maximum number of nodes, more than half a million words need.
const maxNodes = 1 << 23

// newTrie returns a trie of texts, numbered by their indexes. Of equal texts the last counts; the empty text
// is never found.
func newTrie(texts []string) (*trie, error) {
	order := make([]int32, len(texts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(strings.Compare(texts[a], texts[b]), cmp.Compare(a, b)) })
	t := &trie{label: []byte{0}, id: []int32{-1}}
	type span struct{ from, to, depth int32 } // range of order: the texts that share a node
	spans := []span{{0, int32(len(order)), 0}}
	for node := 0; node < len(spans); node++ {
		t.first = append(t.first, int32(len(t.label)))
		s := spans[node]
		for s.from < s.to && len(texts[order[s.from]]) == int(s.depth) {
			t.id[node] = order[s.from]
			s.from++
		}
		for s.from < s.to {
			b, to := texts[order[s.from]][s.depth], s.from+1
			for to < s.to && texts[order[to]][s.depth] == b {
				to++
			}
			t.label, t.id = append(t.label, b), append(t.id, -1)
			spans = append(spans, span{s.from, to, s.depth + 1})
			s.from = to
		}
		if len(spans) > maxNodes {
			return nil, errors.New("the vocabulary is too large")
		}
	}
	t.first = append(t.first, int32(len(t.label)))
	t.id[0] = -1
	return t, nil
}

func (t *trie) child(node int32, b byte) int32 {
	from, to := t.first[node], t.first[node+1]
	if i := bytes.IndexByte(t.label[from:to], b); i >= 0 {
		return from + int32(i)
	}
	return -1
}
