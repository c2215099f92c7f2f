package dialog

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// tree is the turns of one conversation, all branches.
type tree struct {
	turns map[string]memory.Turn
	kids  map[string][]string // by parent, "" for the first turns; the preferred first
	path  []string            // the current path
	place map[string]int      // in it, of its turns
}

func newTree(turns []memory.Turn) *tree {
	t := &tree{turns: map[string]memory.Turn{}, kids: map[string][]string{}}
	for _, turn := range turns {
		t.turns[turn.ID] = turn
	}
	for id, turn := range t.turns {
		t.kids[turn.Parent] = append(t.kids[turn.Parent], id)
	}
	for _, ids := range t.kids {
		slices.SortFunc(ids, t.prefer)
	}
	t.path = t.pathTo(t.leaf())
	t.place = make(map[string]int, len(t.path))
	for i, id := range t.path {
		t.place[id] = i
	}
	return t
}

// prefer orders turns that stand in the same place: those on the current path
// before forgotten ones before those of other branches, later ones first.
func (t *tree) prefer(a, b string) int {
	x, y := t.turns[a], t.turns[b]
	return cmp.Or(cmp.Compare(rank(x.Status), rank(y.Status)), y.RecordedAt.Compare(x.RecordedAt), cmp.Compare(b, a))
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

// leaf returns the last turn of the current path, "" for an empty conversation.
func (t *tree) leaf() string {
	best := ""
	for id, turn := range t.turns {
		if best == "" {
			best = id
			continue
		}
		top := t.turns[best]
		if cmp.Or(cmp.Compare(rank(turn.Status), rank(top.Status)), cmp.Compare(top.Index, turn.Index), t.prefer(id, best)) < 0 {
			best = id
		}
	}
	return best
}

// pathTo returns the ids from the first loaded turn to id, both included.
func (t *tree) pathTo(id string) []string {
	var out []string
	for range t.turns {
		turn, ok := t.turns[id]
		if !ok {
			break
		}
		out = append(out, id)
		id = turn.Parent
	}
	slices.Reverse(out)
	return out
}

// walk follows the messages downward from a turn, "" for the start, and returns
// the stored turns that say the same, as far as they go.
func (t *tree) walk(from string, msgs []wire.Message, hist []int) []string {
	var out []string
	for _, i := range hist {
		next, ok := t.next(from, msgs[i].Digest)
		if !ok {
			break
		}
		out = append(out, next)
		from = next
	}
	return out
}

// next returns the stored turn that follows another with a message of that
// digest. It is false after a turn that is not loaded.
func (t *tree) next(from, digest string) (string, bool) {
	kids := t.kids[from]
	if len(kids) == 0 || from != "" && t.turns[from].ID == "" {
		return "", false
	}
	chain := Chain(t.turns[from].Chain, digest)
	for _, id := range kids {
		if t.turns[id].Chain == chain {
			return id, true
		}
	}
	return "", false
}

// activeBut returns the active turns that are not among these, in order.
func (t *tree) activeBut(on []string) []string {
	stays := make(map[string]bool, len(on))
	for _, id := range on {
		stays[id] = true
	}
	var out []string
	for id, turn := range t.turns {
		if turn.Status == memory.Active && !stays[id] {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.turns[a].Index, t.turns[b].Index), cmp.Compare(a, b))
	})
	return out
}

// beyond returns the part of the current path that a path to id would push out.
func (t *tree) beyond(id string) []string {
	for range t.turns {
		if i, ok := t.place[id]; ok {
			return t.path[i+1:]
		}
		id = t.turns[id].Parent
	}
	return t.path
}

// with returns those among ids that have the status.
func (t *tree) with(ids []string, s memory.Status) []string {
	var out []string
	for _, id := range ids {
		if t.turns[id].Status == s {
			out = append(out, id)
		}
	}
	return out
}

// speaks reports whether one of ids is said in the role.
func (t *tree) speaks(ids []string, role memory.Role) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return t.turns[id].Role == role })
}
