package thread

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// tree holds the turns of one conversation on all branches, by their index in the input. A conversation may have
// several roots, each with a current branch, because messages without evidence for their position begin another root.
type tree struct {
	turns  []memory.Turn
	parent []int
	root   []int            // for each turn: the first loaded turn of its path
	kids   [][]int          // children of turn i at index i+1, roots at index 0; sorted by [tree.prefer]
	ends   map[string][]int // by chain hash: the turns at which a path with this chain ends
	active []int            // the active turns in the order of the conversation
	single bool             // a new branch replaces the branches of all roots
}

// Values for the parent of a turn whose parent is not loaded.
const (
	start  = -1 // the turn has no parent
	absent = -2 // the parent is not loaded
)

func newTree(turns []memory.Turn) *tree {
	n := len(turns)
	t := &tree{turns: turns, parent: make([]int, n), root: make([]int, n), kids: make([][]int, n+1), ends: make(map[string][]int, n)}
	byID := make(map[string]int, n)
	for i := range turns {
		byID[turns[i].ID] = i
	}
	for i := range turns {
		t.root[i] = absent
		t.ends[turns[i].Chain] = append(t.ends[turns[i].Chain], i)
		if turns[i].Status == memory.Active {
			t.active = append(t.active, i)
		}
		t.parent[i] = start
		if id := turns[i].Parent; id != "" {
			p, ok := byID[id]
			if !ok {
				t.parent[i] = absent
				continue
			}
			t.parent[i] = p
		}
		t.kids[t.parent[i]+1] = append(t.kids[t.parent[i]+1], i)
	}
	for _, kids := range t.kids {
		slices.SortFunc(kids, t.prefer)
	}
	for i := range turns {
		t.rootOf(i)
	}
	slices.SortFunc(t.active, t.order)
	return t
}

// rootOf returns the first loaded ancestor of a turn, and caches the result for the turns in between.
func (t *tree) rootOf(i int) int {
	if t.root[i] == absent {
		t.root[i] = i // also ends the recursion if the parents form a cycle
		if p := t.parent[i]; p >= 0 {
			t.root[i] = t.rootOf(p)
		}
	}
	return t.root[i]
}

// order compares turns a and b by their position in the conversation.
func (t *tree) order(a, b int) int {
	return cmp.Or(cmp.Compare(t.turns[a].Index, t.turns[b].Index), cmp.Compare(t.turns[a].ID, t.turns[b].ID))
}

// prefer orders siblings: turns on the current branch, then forgotten turns, then turns of other branches.
// Within each group later turns come first.
func (t *tree) prefer(a, b int) int {
	x, y := &t.turns[a], &t.turns[b]
	return cmp.Or(cmp.Compare(rank(x.Status), rank(y.Status)), y.RecordedAt.Compare(x.RecordedAt), cmp.Compare(y.ID, x.ID))
}

func rank(s memory.Status) int {
	switch s {
	case memory.Active:
		return 0
	case memory.Retired:
		return 1
	}
	return 2
}

// nextIndex returns the index for the turn after parent ([start] for a root). It is higher than the indexes
// of active turns of other roots, and of the expected answer to their last question.
func (t *tree) nextIndex(parent int) int {
	index := 0
	if parent >= 0 {
		index = t.turns[parent].Index + 1
	}
	for _, i := range t.active {
		if turn := &t.turns[i]; parent < 0 || t.root[i] != t.root[parent] {
			index = max(index, turn.Index+1+bit(turn.Role == memory.RoleUser))
		}
	}
	return index
}

// pathTo returns the turns from the first loaded ancestor to i, including both.
func (t *tree) pathTo(i int) []int {
	var out []int
	for i >= 0 && len(out) < len(t.turns) {
		out = append(out, i)
		i = t.parent[i]
	}
	slices.Reverse(out)
	return out
}

func (t *tree) chain(i int) string {
	if i < 0 {
		return ""
	}
	return t.turns[i].Chain
}

func (t *tree) id(i int) string {
	if i < 0 {
		return ""
	}
	return t.turns[i].ID
}

// displaced returns the active turns that a path replaces, in the order of the conversation: turns of the
// path's root (of any root if single) outside the path.
func (t *tree) displaced(path []int) []int {
	if len(path) == 0 && !t.single {
		return nil
	}
	stays := make([]bool, len(t.turns))
	for _, i := range path {
		stays[i] = true
	}
	var out []int
	for _, i := range t.active {
		if (t.single || t.root[i] == t.root[path[0]]) && !stays[i] {
			out = append(out, i)
		}
	}
	return out
}

func (t *tree) ids(turns []int) []string {
	var out []string
	for _, i := range turns {
		out = append(out, t.turns[i].ID)
	}
	return out
}

// replaced returns the ids of the given turns that have the status Replaced.
func (t *tree) replaced(among ...int) []string {
	var ids []string
	for _, i := range among {
		if t.turns[i].Status == memory.Replaced {
			ids = append(ids, t.turns[i].ID)
		}
	}
	return ids
}

// hasRole reports whether one of the turns has the role.
func (t *tree) hasRole(among []int, role memory.Role) bool {
	return slices.ContainsFunc(among, func(i int) bool { return t.turns[i].Role == role })
}
