package thread

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// tree holds the turns of one conversation on all branches, by their index in the input. A conversation may have
// several roots, each with a current branch, because messages without evidence for their position begin another root.
type tree struct {
	turns            []memory.Turn
	parents          []int            // for each turn: its parent, [noParent] or [notLoaded]
	roots            []int            // for each turn: the first loaded turn of its path
	children         [][]int          // children of turn i at index i+1, roots at index 0; sorted by [tree.compareSiblings]
	turnsByChain     map[string][]int // by chain hash: the turns at which a path with this chain ends
	activeTurns      []int            // the active turns in the order of the conversation
	replacesAllRoots bool             // a new branch replaces the branches of all roots
}

// Values in [tree.parents] for turns without a loaded parent.
const (
	noParent  = -1 // the turn has no parent
	notLoaded = -2 // the parent is not loaded
)

func newTree(turns []memory.Turn) *tree {
	n := len(turns)
	t := &tree{turns: turns, parents: make([]int, n), roots: make([]int, n), children: make([][]int, n+1), turnsByChain: make(map[string][]int, n)}
	byID := make(map[string]int, n)
	for i := range turns {
		byID[turns[i].ID] = i
	}
	for i := range turns {
		t.roots[i] = notLoaded
		t.turnsByChain[turns[i].Chain] = append(t.turnsByChain[turns[i].Chain], i)
		if turns[i].Status == memory.Active {
			t.activeTurns = append(t.activeTurns, i)
		}
		t.parents[i] = noParent
		if id := turns[i].Parent; id != "" {
			p, ok := byID[id]
			if !ok {
				t.parents[i] = notLoaded
				continue
			}
			t.parents[i] = p
		}
		t.children[t.parents[i]+1] = append(t.children[t.parents[i]+1], i)
	}
	for _, kids := range t.children {
		slices.SortFunc(kids, t.compareSiblings)
	}
	for i := range turns {
		t.rootOf(i)
	}
	slices.SortFunc(t.activeTurns, t.compareTurns)
	return t
}

// rootOf returns the first loaded ancestor of a turn, and caches the result for the turns in between.
func (t *tree) rootOf(i int) int {
	if t.roots[i] == notLoaded {
		t.roots[i] = i // also ends the recursion if the parents form a cycle
		if p := t.parents[i]; p >= 0 {
			t.roots[i] = t.rootOf(p)
		}
	}
	return t.roots[i]
}

// compareTurns compares turns a and b by their position in the conversation.
func (t *tree) compareTurns(a, b int) int {
	return cmp.Or(cmp.Compare(t.turns[a].Index, t.turns[b].Index), cmp.Compare(t.turns[a].ID, t.turns[b].ID))
}

// compareSiblings orders siblings: turns on the current branch, then forgotten turns, then turns of other branches.
// Within each group later turns come first.
func (t *tree) compareSiblings(a, b int) int {
	x, y := &t.turns[a], &t.turns[b]
	return cmp.Or(cmp.Compare(statusRank(x.Status), statusRank(y.Status)), y.RecordedAt.Compare(x.RecordedAt), cmp.Compare(y.ID, x.ID))
}

func statusRank(s memory.Status) int {
	switch s {
	case memory.Active:
		return 0
	case memory.Retired:
		return 1
	}
	return 2
}

// nextIndex returns the index for the turn after parent ([noParent] for a root). The turn comes last: its index is
// above the indexes of all active turns of other roots, and leaves one index for an answer to a user's message there.
func (t *tree) nextIndex(parent int) int {
	index := 0
	if parent >= 0 {
		index = t.turns[parent].Index + 1
	}
	for _, i := range t.activeTurns {
		if turn := &t.turns[i]; parent < 0 || t.roots[i] != t.roots[parent] {
			index = max(index, turn.Index+1+boolToInt(turn.Role == memory.RoleUser))
		}
	}
	return index
}

// pathTo returns the turns from the first loaded ancestor to i, including both.
func (t *tree) pathTo(i int) []int {
	var out []int
	for i >= 0 && len(out) < len(t.turns) {
		out = append(out, i)
		i = t.parents[i]
	}
	slices.Reverse(out)
	return out
}

func (t *tree) chainOf(i int) string {
	if i < 0 {
		return ""
	}
	return t.turns[i].Chain
}

func (t *tree) idOf(i int) string {
	if i < 0 {
		return ""
	}
	return t.turns[i].ID
}

// turnsReplacedBy returns the active turns that a path replaces, in the order of the conversation: turns outside
// the path, of the path's root or, with replacesAllRoots, of any root.
func (t *tree) turnsReplacedBy(path []int) []int {
	if len(path) == 0 && !t.replacesAllRoots {
		return nil
	}
	onPath := make([]bool, len(t.turns))
	for _, i := range path {
		onPath[i] = true
	}
	var out []int
	for _, i := range t.activeTurns {
		if (t.replacesAllRoots || t.roots[i] == t.roots[path[0]]) && !onPath[i] {
			out = append(out, i)
		}
	}
	return out
}

func (t *tree) idsOf(turns []int) []string {
	var out []string
	for _, i := range turns {
		out = append(out, t.turns[i].ID)
	}
	return out
}

// replacedIDs returns the ids of the given turns that have the status Replaced.
func (t *tree) replacedIDs(turns ...int) []string {
	var ids []string
	for _, i := range turns {
		if t.turns[i].Status == memory.Replaced {
			ids = append(ids, t.turns[i].ID)
		}
	}
	return ids
}

func (t *tree) anyHasRole(turns []int, role memory.Role) bool {
	return slices.ContainsFunc(turns, func(i int) bool { return t.turns[i].Role == role })
}
