package dialog

import (
	"slices"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// Mode is how much of a conversation a client sends.
type Mode int

const (
	// Resend is for clients that send the whole history each time: those whose
	// conversation was chosen by [Choose], and those known to. What differs from
	// what is stored is an edit, but for messages that are missing at the beginning:
	// such a client leaves out what a model has no room for.
	Resend Mode = iota
	// Window is for clients that name the conversation. They may send all of it,
	// its last messages or only the newest one, so that what is missing was not
	// taken back.
	Window
)

// Alignment is a request laid on the tree of its conversation.
type Alignment struct {
	// Turns holds for each message of the request the id of the stored turn that
	// says it, "" for new ones and for system messages.
	Turns []string

	// Parent is the stored turn that the first new one follows or, if nothing is
	// new, that the answer follows; "" at the start of the conversation.
	Parent string
	New    []Place // what is to be stored, in order, each following the one before

	Leave  []string // active turns that leave the current path
	Rejoin []string // replaced ones that come back to it

	Retry      bool // the last user message is stored already: there is nothing to learn
	Regenerate bool // and it has an answer, which is asked for again
	Branch     bool // the request leaves the current path
	ToolLoop   bool // it goes on after the last user message

	tree   *tree
	mode   Mode
	parent int
	last   Place // the turn that the answer follows; its Message means nothing
}

// Place is where a message of the request goes.
type Place struct {
	Message int    // its index in the request
	Index   int    // of the turn
	Chain   string // of the turn
	History bool   // it stands before the last user message: not said now, not to be learned from
}

// Align lays a request on the turns of its conversation, all branches. In [Window]
// mode the last so many turns will do.
func Align(turns []memory.Turn, r Request, mode Mode) Alignment {
	t := newTree(turns)
	var on []int
	var parent int
	if mode == Window {
		on, parent = t.overlap(r)
	} else if on = t.walk(start, r); len(on) > 0 {
		parent = on[len(on)-1]
	} else {
		on, parent = t.trimmed(r)
	}
	return t.lay(r, on, parent, mode)
}

// Follow lays a request on the turns of its conversation where it says itself that it
// belongs: what it holds comes after the turn of that id. The same words again are the
// same message only there. Without that turn it is [Align] in [Window] mode.
func Follow(turns []memory.Turn, r Request, after string) Alignment {
	parent := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == after })
	if parent < 0 {
		return Align(turns, r, Window)
	}
	t := newTree(turns)
	on := t.walk(parent, r)
	if len(on) > 0 {
		parent = on[len(on)-1]
	}
	return t.lay(r, on, parent, Window)
}

// lay makes the alignment of a request whose first messages are the turns on, of which the
// last, or without any the one that they would follow, is parent.
func (t *tree) lay(r Request, on []int, parent int, mode Mode) Alignment {
	a := Alignment{Turns: make([]string, len(r.msgs)), Parent: t.id(parent), tree: t, mode: mode, parent: parent}
	for k, i := range on {
		a.Turns[r.hist[k]] = t.turns[i].ID
	}
	a.place(r.msgs, r.hist[len(on):])
	a.move(t.pathTo(parent))
	a.judge(r.msgs)
	return a
}

// Resume lays a request where it was stored: ids are the turns that say its messages, ""
// for system messages. Whatever was said since, nothing of it is new, and what took its
// place leaves for it. Without the last of ids among the turns it is [Align].
func Resume(turns []memory.Turn, r Request, ids []string, mode Mode) Alignment {
	if len(r.hist) == 0 {
		return Align(turns, r, mode)
	}
	t := newTree(turns)
	parent := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == ids[r.hist[len(r.hist)-1]] })
	if parent < 0 {
		return Align(turns, r, mode)
	}
	a := Alignment{Turns: slices.Clone(ids), Parent: t.id(parent), tree: t, mode: mode, parent: parent}
	a.place(r.msgs, nil)
	a.move(t.pathTo(parent))
	a.judge(r.msgs)
	return a
}

// Path is what the current path of the conversation is from where the request changes it,
// or its answer does, once turns of these ids follow the last one that is known.
func (a Alignment) Path(next ...string) *memory.Path {
	on := a.tree.pathTo(a.parent)
	stays := slices.IndexFunc(on, func(i int) bool { return a.tree.turns[i].Status == memory.Replaced })
	if stays < 0 {
		stays = len(on)
	}
	p := &memory.Path{}
	for _, i := range on[stays:] {
		p.Turns = append(p.Turns, a.tree.turns[i].ID)
	}
	p.Turns = append(p.Turns, next...)
	if stays > 0 {
		before := &a.tree.turns[on[stays-1]]
		if p.From = before.Index + 1; before.Status == memory.Active {
			p.After = before.ID
		}
	} else if len(on) > 0 {
		p.From = a.tree.turns[on[0]].Index
	}
	return p
}

// WentOn reports whether the user said something after the request in a conversation of
// which clients send the end alone: no answer to it takes that back, since what looks like
// an earlier question asked again may be the same words said once more.
func (a Alignment) WentOn() bool {
	return a.mode == Window && a.tree.speaks(a.tree.beyond(a.parent), memory.RoleUser)
}

// place gives the new messages their places after the parent.
func (a *Alignment) place(msgs []wire.Message, fresh []int) {
	a.last = Place{Index: -1}
	if a.parent >= 0 {
		p := &a.tree.turns[a.parent]
		a.last = Place{Index: p.Index, Chain: p.Chain}
	}
	lastUser := wire.LastUser(msgs)
	for _, i := range fresh {
		a.last = Place{
			Message: i,
			Index:   a.last.Index + 1,
			Chain:   Chain(a.last.Chain, msgs[i].Digest),
			History: i < lastUser,
		}
		a.New = append(a.New, a.last)
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
	a.Leave, a.Rejoin = a.tree.activeBut(on), rejoin
	a.Branch = len(a.Leave)+len(a.Rejoin) > 0
}

func (a *Alignment) judge(msgs []wire.Message) {
	last := wire.LastUser(msgs)
	if last < 0 {
		return
	}
	a.ToolLoop = len(history(msgs[last+1:])) > 0
	a.Retry = a.Turns[last] != ""
	a.Regenerate = a.Retry && len(a.New) == 0 && a.tree.speaks(a.tree.kids[a.parent+1], memory.RoleAssistant)
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
	for _, id := range a.tree.activeBut(on) {
		if !slices.Contains(a.Leave, id) {
			r.Leave = append(r.Leave, id)
		}
	}
	return r
}

// Overtaken reports whether the conversation has gone on elsewhere since the same request
// was laid on it earlier, and was stored: its last message is not found where it was, or an
// answer would push out turns that came onto the current path since then, such as another
// answer to the same question. The zero Alignment is earlier than all that was said.
func (a Alignment) Overtaken(since Alignment) bool {
	if len(a.New) > 0 {
		return true
	}
	stood := map[string]bool{} // on the current path then
	if since.tree != nil {
		for i := range since.tree.turns {
			stood[since.tree.turns[i].ID] = since.tree.turns[i].Status == memory.Active
		}
	}
	pushed := a.tree.activeBut(a.tree.pathTo(a.parent))
	return slices.ContainsFunc(pushed, func(id string) bool { return !stood[id] })
}
