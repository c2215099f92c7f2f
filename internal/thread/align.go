package thread

import (
	"slices"
	"sort"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Alignment is a request laid on the tree of its conversation.
type Alignment struct {
	// Turns holds for each message of the request the id of the stored turn that says it,
	// "" for new ones, for system messages, and for those that stand before what is known
	// and are not stored themselves.
	Turns []string

	// Parent is the stored turn that the first new one follows or, if nothing is
	// new, that the answer follows; "" at the start of the conversation.
	Parent string
	New    []Place // what is to be stored, in order, each following the one before

	Leave  []string // active turns that leave the current path
	Rejoin []string // replaced ones that come back to it

	Retry   bool // the last user message is stored already: there is nothing to learn
	Dropped int  // new messages that are not kept, since there are too many
	Heard   bool // what is new follows an answer that went through Loci, or a turn that the client names

	tree   *tree
	parent int
	base   int   // index of what follows the parent
	last   Place // the turn that the answer follows; its Message means nothing
}

// Place is where a message of the request goes.
type Place struct {
	Message int    // its index in the request
	Index   int    // of the turn: one more than its parent's, unless another path goes on there
	Chain   string // of the turn
	History bool   // it stands before the last user message: not said now, not to be learned from
}

// Align lays a request on the turns of its conversation, all branches; the last so many
// turns will do. What comes after the last message that is known is new. A request of which
// nothing is known, such as a message alone, begins at a root of its own; so does what would
// take back words of the user without proof, or not said now, such as a summary of them.
func Align(turns []memory.Turn, r Request) Alignment {
	t := newTree(turns)
	on := t.match(r)
	if len(on) == 0 {
		return t.lay(r, nil, start, 0)
	}
	parent := on[len(on)-1].turn
	proven := slices.ContainsFunc(on, func(k known) bool { return heard(&t.turns[k.turn]) })
	if next := end(on); next < len(r.hist) {
		if t.skips(parent, r.at(next).Role) || !(proven && r.saidNow(next)) && t.speaks(t.displaced(t.pathTo(parent)), memory.RoleUser) {
			return t.lay(r, on, start, 0)
		}
	}
	a := t.lay(r, on, parent, 0)
	a.Heard = proven
	return a
}

// skips reports whether a message of that role behind a turn leaves out what stands there,
// instead of taking its place: some clients drop answers when they shorten a history.
func (t *tree) skips(turn int, role memory.Role) bool {
	return slices.ContainsFunc(t.kids[turn+1], func(kid int) bool {
		return t.turns[kid].Status == memory.Active && t.turns[kid].Role != role
	})
}

// Ids of a turn where a request follows none.
const (
	Beginning = "beginning"

	// First says besides that the message is the conversation's first one: whatever else
	// stood there leaves.
	First = "first"
)

// Follow lays a request on the turns of its conversation where it says itself that it
// belongs: its messages from one on come after the turn of that id. The same words again are
// the same message only there. Without that turn it is [Align].
func Follow(turns []memory.Turn, r Request, after string, from int) Alignment {
	parent := start
	if after != Beginning && after != First {
		if parent = slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == after }); parent < 0 {
			return Align(turns, r)
		}
	}
	t := newTree(turns)
	t.single = after == First
	next := sort.SearchInts(r.hist, from)
	on := append(t.back(r, next-1, parent, 0), t.walk(parent, r, next)...)
	if len(on) > 0 {
		parent = on[len(on)-1].turn
	}
	a := t.lay(r, on, parent, next)
	a.Heard = true
	return a
}

// lay makes the alignment of a request of which some messages are known, and what comes
// after them, and from one on, follows the turn parent.
func (t *tree) lay(r Request, on []known, parent, from int) Alignment {
	a := Alignment{Turns: make([]string, len(r.msgs)), Parent: t.id(parent), tree: t, parent: parent}
	fresh := r.hist[from:]
	for _, k := range on {
		a.Turns[r.hist[k.message]] = t.turns[k.turn].ID
		fresh = r.hist[k.message+1:]
	}
	a.place(r, fresh)
	a.move(t.pathTo(parent))
	return a
}

// Resume lays a request where it was stored: ids are the turns that say its messages, ""
// for those that none does. Whatever was said since, nothing of it is new, and what took its
// place leaves for it. Without the last of ids among the turns it is [Align].
func Resume(turns []memory.Turn, r Request, ids []string) Alignment {
	if len(r.hist) == 0 {
		return Align(turns, r)
	}
	parent := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == ids[r.hist[len(r.hist)-1]] })
	if parent < 0 {
		return Align(turns, r)
	}
	t := newTree(turns)
	a := Alignment{Turns: slices.Clone(ids), Parent: t.id(parent), tree: t, parent: parent}
	a.place(r, nil)
	a.move(t.pathTo(parent))
	return a
}

// Path is what the current path of the conversation is from where the request changes it,
// or its answer does, once turns of these ids follow the last one that is known. What is
// active beside the request's own path stays.
func (a Alignment) Path(next ...string) *memory.Path {
	t, on := a.tree, a.tree.pathTo(a.parent)
	p := &memory.Path{From: a.base}
	if back := slices.IndexFunc(on, func(i int) bool { return t.turns[i].Status == memory.Replaced }); back >= 0 {
		p.From = t.turns[on[back]].Index
		on, p.Turns = on[:back], t.ids(on[back:])
	}
	if len(on) > 0 {
		if before := &t.turns[on[len(on)-1]]; before.Status == memory.Active && before.Index == p.From-1 {
			p.After = before.ID
		}
	}
	p.Turns = append(p.Turns, next...)
	for _, i := range t.active {
		if t.turns[i].Index >= p.From && (a.parent < 0 || t.root[i] != t.root[a.parent]) {
			p.Turns = append(p.Turns, t.turns[i].ID)
		}
	}
	return p
}

// WentOn reports whether the user said something after the request: no answer to it takes
// that back.
func (a Alignment) WentOn() bool {
	return a.tree.speaks(a.tree.displaced(a.tree.pathTo(a.parent)), memory.RoleUser)
}

// place gives the new messages their places after the parent: the last ones, where there
// are more than are kept. It notes whether the last user message is one of them.
func (a *Alignment) place(r Request, fresh []int) {
	if last := chatapi.LastUser(r.msgs); last >= 0 {
		a.Retry = a.Turns[last] != ""
	}
	a.base = a.tree.room(a.parent)
	a.last = Place{Index: a.base - 1, Chain: a.tree.chain(a.parent)}
	if before := len(r.hist) - len(fresh); a.parent == start && before > 0 && len(fresh) > 0 {
		a.last.Chain = r.chains[before-1] // so that the request's beginning tells where it went on
	}
	if r.most > 0 {
		a.Dropped = max(0, len(fresh)-r.most)
	}
	unanswered := r.unanswered()
	for k, i := range fresh {
		a.last = Place{
			Message: i,
			Index:   a.last.Index + 1,
			Chain:   Chain(a.last.Chain, r.msgs[i].Digest),
			History: i < unanswered,
		}
		if k >= a.Dropped {
			a.New = append(a.New, a.last)
		}
	}
}

// move says what leaves and what comes back, given the path that is followed. A
// request that only asks again for what stands on the current path moves nothing
// until its answer is there.
func (a *Alignment) move(on []int) {
	rejoin := a.tree.replaced(on...)
	if len(a.New) == 0 && len(rejoin) == 0 {
		return
	}
	a.Leave, a.Rejoin = a.tree.ids(a.tree.displaced(on)), rejoin
}

// Reply is where an answer goes.
type Reply struct {
	Known  string // the stored turn that says the same in the same place; "": a new turn
	Index  int
	Chain  string
	Leave  []string // active turns that leave the current path, beside the alignment's
	Rejoin []string
}

// Answer says where an answer of that digest goes. An answer that stands on the
// current path already changes nothing; any other takes the place of what came
// after its question. A caller that has recorded the request and waited for the
// answer lays it there again first ([Resume]): the place is the same, and what others
// recorded in between is seen.
func (a Alignment) Answer(digest string) Reply {
	r := Reply{Index: a.last.Index + 1, Chain: Chain(a.last.Chain, digest)}
	if len(a.New) > 0 {
		return r
	}
	on := a.tree.pathTo(a.parent)
	if i := a.tree.next(a.parent, digest); i >= 0 {
		r.Known = a.tree.turns[i].ID
		if a.tree.turns[i].Status == memory.Active {
			return r
		}
		on = append(on, i)
		r.Rejoin = a.tree.replaced(i)
	}
	for _, id := range a.tree.ids(a.tree.displaced(on)) {
		if !slices.Contains(a.Leave, id) {
			r.Leave = append(r.Leave, id)
		}
	}
	return r
}
