package dialog

import (
	"cmp"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// RetryWindow is how long after it a first message, sent again, is taken for the
// same chat and not for a new one that begins alike.
const RetryWindow = 10 * time.Minute

// Candidate is a stored conversation with the turns of all its branches.
type Candidate struct {
	Conversation memory.Conversation
	Turns        []memory.Turn
}

// Choose returns the index of the conversation that a request without an id
// continues, -1 if it begins a new one.
//
//   - A lone user message belongs to a conversation of just this message, with or
//     without its one answer, that was updated within [RetryWindow] of now.
//   - Else the conversation's current path must be the request's beginning whole,
//     or the two must share, on any branch, a beginning with an answer in it.
//   - Or it is a first exchange within [RetryWindow] of which the client sends the
//     answer back in other words.
//
// Among several the one that shares the latest answer is taken, since answers are
// what tells chats that begin alike apart; then one within [RetryWindow] that
// holds all of the request already, one that is shared whole, the one that shares
// most, and the one updated last. A conversation of which nothing more telling than
// greetings is shared is not taken if that would push out what the user said in
// it: it is another chat.
func Choose(cands []Candidate, r Request, now time.Time) int {
	best, top := -1, fit{}
	for i, c := range cands {
		f := fitOf(c, r)
		f.recent = now.Sub(c.Conversation.UpdatedAt).Abs() <= RetryWindow
		f.again = f.recent && !f.pushes && f.shared == len(r.hist)
		if f.continues(r) && (best < 0 || f.compare(top) > 0) {
			best, top = i, f
		}
	}
	return best
}

// fit is how well a conversation fits a request.
type fit struct {
	answer  int  // place of the last answer that is shared, from 1; 0 for none
	again   bool // the request was just made, as it is
	whole   bool // its current path is the request's beginning
	shared  int  // messages
	updated time.Time
	id      string
	recent  bool
	length  int  // of its current path
	telling bool // a user message that is shared is more than a greeting
	pushes  bool // taking it would push out words of the user
}

func fitOf(c Candidate, r Request) fit {
	t := newTree(c.Turns)
	on := t.walk(start, r)
	f := fit{shared: len(on), length: len(t.path), updated: c.Conversation.UpdatedAt, id: c.Conversation.ID}
	for i, n := range on {
		switch turn := &t.turns[n]; turn.Role {
		case memory.RoleAssistant:
			f.answer = i + 1
		case memory.RoleUser:
			f.telling = f.telling || !slight(turn.Content)
		}
	}
	f.whole = f.length > 0 && f.shared >= f.length && slices.Equal(on[:f.length], t.path)
	if f.shared > 0 {
		f.pushes = t.speaks(t.beyond(on[f.shared-1]), memory.RoleUser)
	}
	return f
}

func (f fit) continues(r Request) bool {
	first := f.shared == 1 && f.length <= 2 && !f.pushes && f.recent
	if len(r.hist) == 1 {
		return first && r.at(0).Role == memory.RoleUser
	}
	switch {
	case f.whole:
		return true
	case f.answer > 0 && f.shared > 1:
		return f.telling || !f.pushes
	}
	return first && f.telling && r.at(1).Role == memory.RoleAssistant
}

func (f fit) compare(g fit) int {
	return cmp.Or(cmp.Compare(f.answer, g.answer), cmp.Compare(bit(f.again), bit(g.again)),
		cmp.Compare(bit(f.whole), bit(g.whole)), cmp.Compare(f.shared, g.shared), f.updated.Compare(g.updated), cmp.Compare(g.id, f.id))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
