package dialog

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// tree is the turns of one conversation, all branches. Turns are named by their
// place in the slice they came in.
type tree struct {
	turns  []memory.Turn
	parent []int
	kids   [][]int // of turn i at i+1, so that those of [start] are first; the preferred first
	path   []int   // the current path
	place  []int   // in it, of each turn; -1 off it
}

// Where a turn without a loaded parent hangs.
const (
	start  = -1 // at the conversation's start
	absent = -2 // after a turn that is not loaded
)

func newTree(turns []memory.Turn) *tree {
	n := len(turns)
	t := &tree{turns: turns, parent: make([]int, n), kids: make([][]int, n+1), place: make([]int, n)}
	counts, byID := make([]int, n+1), finder(turns)
	for i := range turns {
		t.place[i] = -1
		t.parent[i] = start
		if id := turns[i].Parent; id != "" {
			t.parent[i] = byID(id, i-1)
		}
		if p := t.parent[i]; p != absent {
			counts[p+1]++
		}
	}
	for i, room := 0, make([]int, n); i <= n; i++ {
		t.kids[i], room = room[:0:counts[i]], room[counts[i]:]
	}
	for i, p := range t.parent {
		if p != absent {
			t.kids[p+1] = append(t.kids[p+1], i)
		}
	}
	for _, kids := range t.kids {
		slices.SortFunc(kids, t.prefer)
	}
	t.path = t.pathTo(t.leaf())
	for k, i := range t.path {
		t.place[i] = k
	}
	return t
}

// finder returns what finds a turn by its id, [absent] without it, given where it may
// be: most follow the one before them.
func finder(turns []memory.Turn) func(id string, hint int) int {
	var all map[string]int
	return func(id string, hint int) int {
		if hint >= 0 && turns[hint].ID == id {
			return hint
		}
		if all == nil {
			all = make(map[string]int, len(turns))
			for i := range turns {
				all[turns[i].ID] = i
			}
		}
		if i, ok := all[id]; ok {
			return i
		}
		return absent
	}
}

// prefer orders turns that stand in the same place: those on the current path
// before forgotten ones before those of other branches, later ones first.
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

// leaf returns the last turn of the current path, [start] in an empty tree.
func (t *tree) leaf() int {
	best := start
	for i := range t.turns {
		if best == start {
			best = i
			continue
		}
		x, y := &t.turns[i], &t.turns[best]
		if cmp.Or(cmp.Compare(rank(x.Status), rank(y.Status)), cmp.Compare(y.Index, x.Index), t.prefer(i, best)) < 0 {
			best = i
		}
	}
	return best
}

// pathTo returns the turns from the first loaded one to i, both included.
func (t *tree) pathTo(i int) []int {
	var out []int
	for i >= 0 && len(out) < len(t.turns) {
		out = append(out, i)
		i = t.parent[i]
	}
	slices.Reverse(out)
	return out
}

// walk follows the messages downward from a turn and returns the stored turns
// that say the same, as far as they go.
func (t *tree) walk(from int, r Request) []int {
	var out []int
	known := from == start && r.chains != nil
	for i := range r.hist {
		var next int
		if known {
			next = t.ending(from, r.chains[i])
		} else {
			next = t.next(from, r.at(i).Digest)
		}
		if next < 0 {
			break
		}
		out = append(out, next)
		from = next
	}
	return out
}

// next returns the stored turn that follows another with a message of that
// digest, negative for none.
func (t *tree) next(from int, digest string) int {
	if len(t.kids[from+1]) == 0 {
		return absent
	}
	return t.ending(from, Chain(t.chain(from), digest))
}

// ending returns the stored turn that follows another and ends a path of that chain,
// negative for none.
func (t *tree) ending(from int, chain string) int {
	for _, i := range t.kids[from+1] {
		if t.turns[i].Chain == chain {
			return i
		}
	}
	return absent
}

func (t *tree) chain(i int) string {
	if i < 0 {
		return ""
	}
	return t.turns[i].Chain
}

// id returns a turn's id, "" for [start].
func (t *tree) id(i int) string {
	if i < 0 {
		return ""
	}
	return t.turns[i].ID
}

// activeBut returns the ids of the active turns that are not among these, in the
// order of the conversation.
func (t *tree) activeBut(on []int) []string {
	stays := make([]bool, len(t.turns))
	for _, i := range on {
		stays[i] = true
	}
	var out []int
	for i := range t.turns {
		if t.turns[i].Status == memory.Active && !stays[i] {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.turns[a].Index, t.turns[b].Index), cmp.Compare(t.turns[a].ID, t.turns[b].ID))
	})
	var ids []string
	for _, i := range out {
		ids = append(ids, t.turns[i].ID)
	}
	return ids
}

// replaced returns the ids of those among the turns that are replaced.
func (t *tree) replaced(among ...int) []string {
	var ids []string
	for _, i := range among {
		if t.turns[i].Status == memory.Replaced {
			ids = append(ids, t.turns[i].ID)
		}
	}
	return ids
}

// beyond returns the part of the current path that a path to turn i would push
// out.
func (t *tree) beyond(i int) []int {
	for range t.turns {
		if i < 0 {
			break
		}
		if k := t.place[i]; k >= 0 {
			return t.path[k+1:]
		}
		i = t.parent[i]
	}
	return t.path
}

// speaks reports whether one of the turns is said in the role.
func (t *tree) speaks(among []int, role memory.Role) bool {
	return slices.ContainsFunc(among, func(i int) bool { return t.turns[i].Role == role })
}
