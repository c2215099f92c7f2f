package transformer

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
)

// trie finds tokens by their bytes. The nodes are numbered so that the children of a node are adjacent and
// ordered by byte, and the children of the next node follow.
type trie struct {
	labels      []byte  // byte that leads to each node; node 0 is the root
	firstChild  []int32 // index of each node's first child, with one extra entry at the end
	tokenByNode []int32 // number of the token that ends at each node; -1 means none
}

// maxTrieNodes is the maximum number of nodes; half a million words need fewer.
const maxTrieNodes = 1 << 23

// newTrie returns a trie in which a text's number is its index in texts; of equal texts, the last index. The
// empty text is omitted.
func newTrie(texts []string) (*trie, error) {
	order := make([]int32, len(texts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(strings.Compare(texts[a], texts[b]), cmp.Compare(a, b)) })
	t := &trie{labels: []byte{0}, tokenByNode: []int32{-1}}
	type span struct{ from, to, depth int32 } // texts order[from:to], which share their first depth bytes and a node
	spans := []span{{0, int32(len(order)), 0}}
	for node := 0; node < len(spans); node++ {
		t.firstChild = append(t.firstChild, int32(len(t.labels)))
		s := spans[node]
		for s.from < s.to && len(texts[order[s.from]]) == int(s.depth) {
			t.tokenByNode[node] = order[s.from]
			s.from++
		}
		for s.from < s.to {
			b, to := texts[order[s.from]][s.depth], s.from+1
			for to < s.to && texts[order[to]][s.depth] == b {
				to++
			}
			t.labels, t.tokenByNode = append(t.labels, b), append(t.tokenByNode, -1)
			spans = append(spans, span{s.from, to, s.depth + 1})
			s.from = to
		}
		if len(spans) > maxTrieNodes {
			return nil, errors.New("the vocabulary is too large")
		}
	}
	t.firstChild = append(t.firstChild, int32(len(t.labels)))
	t.tokenByNode[0] = -1
	return t, nil
}

func (t *trie) child(node int32, b byte) int32 {
	from, to := t.firstChild[node], t.firstChild[node+1]
	if i := bytes.IndexByte(t.labels[from:to], b); i >= 0 {
		return from + int32(i)
	}
	return -1
}
