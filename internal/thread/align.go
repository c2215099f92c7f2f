package thread

import (
	"slices"
	"sort"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Alignment is a request matched with the tree of its conversation.
type Alignment struct {
	// Turns has, for each message of the request, the id of its stored turn, or "" for new messages, system
	// messages, and messages before the first match that are not stored.
	Turns []string

	// Parent is the id of the stored turn before the first new turn, or, without new turns, before the
	// answer. "" means the start of the conversation.
	Parent string
	New    []Place // the turns to store, in order; each is the child of the previous one

	Leave  []string // active turns to remove from the current branch
	Rejoin []string // replaced turns to return to the current branch

	Retry            bool // the last user message is already stored, so there is nothing to learn
	Dropped          int  // number of new messages that exceed the limit and are not stored
	FollowsKnownTurn bool // the new turns follow an answer that went through Loci, or a turn named by the client

	tree   *tree
	parent int
	base   int   // conversation index for the turn after the parent
	last   Place // position of the turn before the answer; MessageIndex is not set
}

// Place is the position of a message in the conversation.
type Place struct {
	Message int    // index of the message in the request
	Index   int    // conversation index of the turn: higher than its parent's
	Chain   string // chain hash of the turn
	History bool   // the message precedes the last user message, so no facts are learned from it
}

// Align matches a request with the turns of its conversation on all branches. The recent turns are enough.
// Messages after the last match are new. A request begins a new root if no message matches, or if it would
// replace the user's words without evidence or only by history such as a summary.
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

// skips reports whether the active turn after the given turn has another role than the next message. The
// client then omitted that turn, instead of replacing it, to shorten the history.
func (t *tree) skips(turn int, role memory.Role) bool {
	return slices.ContainsFunc(t.kids[turn+1], func(kid int) bool {
		return t.turns[kid].Status == memory.Active && t.turns[kid].Role != role
	})
}

// Values for the parameter after of [Follow] if the request follows no turn.
const (
	Beginning = "beginning"

	// First also means that the request's turns replace all other beginnings of the conversation.
	First = "first"
)

// Follow aligns a request whose client names its position: the messages from index from follow the turn with
// the id after. They match only turns at that position. If the turn is missing, the result is that of [Align].
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

// alignAt returns the alignment for the matches on. The messages from index from, or else after the last
// match, follow the turn parent.
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

// Resume aligns a request that is already stored. ids are the turns of its messages, "" for messages without
// a turn. No message is new, and turns that replaced the request's turns in the meantime are removed from the
// branch. If the last id is missing in turns, the result is that of [Align].
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

// Path returns the current branch from the first position that the request or its answer changes. next has
// the ids of the turns after the last match. Active turns of other roots stay.
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

// UserContinued reports whether the user wrote something after the request, which an answer to the request
// must not replace.
func (a Alignment) UserContinued() bool {
	return a.tree.hasRole(a.tree.displaced(a.tree.pathTo(a.parent)), memory.RoleUser)
}

// place assigns positions after the parent to the new messages, or, over the limit, to the last of them. It
// sets IsRetry if the last user message is not new.
func (a *Alignment) place(r Request, fresh []int) {
	if last := chatapi.LastUser(r.msgs); last >= 0 {
		a.Retry = a.Turns[last] != ""
	}
	a.base = a.tree.nextIndex(a.parent)
	a.last = Place{Index: a.base - 1, Chain: a.tree.chain(a.parent)}
	if before := len(r.hist) - len(fresh); a.parent == start && before > 0 && len(fresh) > 0 {
		a.last.Chain = r.chains[before-1] // so that the chain shows where the request continued
	}
	if r.maxNew > 0 {
		a.Dropped = max(0, len(fresh)-r.maxNew)
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

// move sets the turns that leave and rejoin the current branch; on is the branch of the request. A request
// without new or replaced turns moves no turns before its answer arrives.
func (a *Alignment) move(on []int) {
	rejoin := a.tree.replaced(on...)
	if len(a.New) == 0 && len(rejoin) == 0 {
		return
	}
	a.Leave, a.Rejoin = a.tree.ids(a.tree.displaced(on)), rejoin
}

// Reply is the position of an answer in the conversation.
type Reply struct {
	Stored string // id of the stored turn with the same text and position; "" for a new turn
	Index  int
	Chain  string
	Leave  []string // active turns to remove from the current branch, in addition to [Alignment.Leave]
	Rejoin []string
}

// Answer returns the position of an answer with this digest. An answer on the current branch changes nothing;
// any other answer replaces the turns after its question. A caller that waited for the answer must call
// [Resume] first, because of turns recorded in the meantime.
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
