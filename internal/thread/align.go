package thread

import (
	"slices"
	"sort"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Alignment is a request matched with the tree of its conversation.
type Alignment struct {
	// Turns holds for each message of the request the id of its stored turn, "" for new messages,
	// for system messages, and for unstored ones before the first match.
	Turns []string

	// Parent is the stored turn that the first new one follows or, if nothing is new, that the
	// answer follows; "" at the start of the conversation.
	Parent string
	New    []Place // the turns to store, in order, each following the one before

	Leave  []string // active turns that leave the current path
	Rejoin []string // replaced turns that return to it

	Retry            bool // the last user message is stored already: there is nothing to learn
	Dropped          int  // new messages over the limit, which are not kept
	FollowsKnownTurn bool // the new turns follow an answer that went through Loci, or a turn that the client names

	tree   *tree
	parent int
	base   int   // index of the turn after the parent
	last   Place // the turn that the answer follows; its Message has no meaning
}

// Place is the position of a message in the conversation.
type Place struct {
	Message int    // its index in the request
	Index   int    // of the turn: one more than its parent's, unless another path continues there
	Chain   string // of the turn
	History bool   // it precedes the last user message: it is not new and not to be learned from
}

// Align matches a request with the turns of its conversation, all branches; recent turns suffice.
// Messages after the last match are new. A request without a match, such as a single message,
// begins a new root; so does one that would replace the user's words without evidence, or only by
// history such as a summary.
func Align(turns []memory.Turn, r Request) Alignment {
	t := newTree(turns)
	on := t.match(r)
	if len(on) == 0 {
		return t.alignAt(r, nil, start, 0)
	}
	parent := on[len(on)-1].turn
	proven := slices.ContainsFunc(on, func(k match) bool { return wentThroughLoci(&t.turns[k.turn]) })
	if next := end(on); next < len(r.hist) {
		if t.skips(parent, r.at(next).Role) || !(proven && r.isCurrent(next)) && t.hasRole(t.displaced(t.pathTo(parent)), memory.RoleUser) {
			return t.alignAt(r, on, start, 0)
		}
	}
	a := t.alignAt(r, on, parent, 0)
	a.FollowsKnownTurn = proven
	return a
}

// skips reports whether a message of that role omits the turn in its place rather than replacing
// it: some clients drop answers when they shorten a history.
func (t *tree) skips(turn int, role memory.Role) bool {
	return slices.ContainsFunc(t.kids[turn+1], func(kid int) bool {
		return t.turns[kid].Status == memory.Active && t.turns[kid].Role != role
	})
}

// Ids of a turn if a request follows none.
const (
	Beginning = "beginning"

	// First also says that the message is the conversation's first, so that other beginnings leave.
	First = "first"
)

// Follow aligns a request whose client names its place: its messages from index from on follow the
// turn after. Equal messages match only there. Without that turn it is [Align].
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
	on := append(t.matchBackward(r, next-1, parent, 0), t.matchForward(parent, r, next)...)
	if len(on) > 0 {
		parent = on[len(on)-1].turn
	}
	a := t.alignAt(r, on, parent, next)
	a.FollowsKnownTurn = true
	return a
}

// alignAt makes the alignment of a request with some matches; its messages from one on follow the turn
// parent.
func (t *tree) alignAt(r Request, on []match, parent, from int) Alignment {
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

// Resume aligns a request with the turns that already store it: ids are its messages' turns, "" for
// none. Nothing of it is new, and turns that replaced it meanwhile leave. Without the last of ids
// among the turns it is [Align].
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

// Path is the current path of the conversation from where the request or its answer changes it,
// with turns of the ids next after the last match. Active turns on other paths stay.
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

// UserContinued reports whether the user wrote something after the request, which no answer to it
// replaces.
func (a Alignment) UserContinued() bool {
	return a.tree.hasRole(a.tree.displaced(a.tree.pathTo(a.parent)), memory.RoleUser)
}

// place assigns positions after the parent to the new messages, the last ones if there are too
// many, and notes whether the last user message is among them.
func (a *Alignment) place(r Request, fresh []int) {
	if last := chatapi.LastUser(r.msgs); last >= 0 {
		a.Retry = a.Turns[last] != ""
	}
	a.base = a.tree.nextIndex(a.parent)
	a.last = Place{Index: a.base - 1, Chain: a.tree.chain(a.parent)}
	if before := len(r.hist) - len(fresh); a.parent == start && before > 0 && len(fresh) > 0 {
		a.last.Chain = r.chains[before-1] // so that the chain shows where the request continued
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

// move determines the turns that leave and rejoin for the path on. A mere repetition of the current
// path moves nothing until its answer is there.
func (a *Alignment) move(on []int) {
	rejoin := a.tree.replaced(on...)
	if len(a.New) == 0 && len(rejoin) == 0 {
		return
	}
	a.Leave, a.Rejoin = a.tree.ids(a.tree.displaced(on)), rejoin
}

// Reply is the position of an answer.
type Reply struct {
	Stored string // the stored turn with the same text in the same place; "": a new turn
	Index  int
	Chain  string
	Leave  []string // active turns that leave the current path, in addition to the alignment's
	Rejoin []string
}

// Answer returns the position of an answer with that digest. An answer on the current path changes
// nothing; any other replaces the turns after its question. After waiting for the answer a caller
// must first [Resume], to see turns recorded in between.
func (a Alignment) Answer(digest string) Reply {
	r := Reply{Index: a.last.Index + 1, Chain: Chain(a.last.Chain, digest)}
	if len(a.New) > 0 {
		return r
	}
	on := a.tree.pathTo(a.parent)
	if i := a.tree.next(a.parent, digest); i >= 0 {
		r.Stored = a.tree.turns[i].ID
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
