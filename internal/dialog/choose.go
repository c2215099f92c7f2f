package dialog

import (
	"cmp"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// RetryWindow is how long after it a lone user message, sent again, is taken for
// the same request and not for a new chat that begins alike.
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
//
// Among several the one that shares the latest answer is taken, since answers are
// what tells chats that begin alike apart; then one that is shared whole, the one
// that shares most, and the one updated last. A conversation of which no more
// than a greeting and its answer is shared is not taken if that would push out
// what the user said in it: it is another chat.
func Choose(cands []Candidate, msgs []wire.Message, now time.Time) int {
	hist := history(msgs)
	if len(hist) == 0 {
		return -1
	}
	lone := len(hist) == 1
	if lone && msgs[hist[0]].Role != memory.RoleUser {
		return -1
	}
	best, top := -1, fit{}
	for i, c := range cands {
		f := fitOf(c, msgs, hist)
		ok := f.continues
		if lone {
			ok = f.shared == 1 && f.single && now.Sub(c.Conversation.UpdatedAt).Abs() <= RetryWindow
		}
		if ok && (best < 0 || f.compare(top) > 0) {
			best, top = i, f
		}
	}
	return best
}

// fit is how well a conversation fits a request.
type fit struct {
	answer    int // place of the last answer that is shared, from 1; 0 for none
	whole     bool
	shared    int // messages
	updated   time.Time
	id        string
	continues bool // a request of more than one message may continue it
	single    bool // its path is a user message and at most one answer
}

func (f fit) compare(g fit) int {
	return cmp.Or(cmp.Compare(f.answer, g.answer), cmp.Compare(bit(f.whole), bit(g.whole)),
		cmp.Compare(f.shared, g.shared), f.updated.Compare(g.updated), cmp.Compare(g.id, f.id))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func fitOf(c Candidate, msgs []wire.Message, hist []int) fit {
	t := newTree(c.Turns)
	on := t.walk("", msgs, hist)
	f := fit{shared: len(on), updated: c.Conversation.UpdatedAt, id: c.Conversation.ID}
	users := 0
	for i, id := range on {
		switch t.turns[id].Role {
		case memory.RoleAssistant:
			f.answer = i + 1
		case memory.RoleUser:
			users++
		}
	}
	f.whole = len(t.path) > 0 && len(on) >= len(t.path) && slices.Equal(on[:len(t.path)], t.path)
	f.single = len(t.path) == 1 || len(t.path) == 2 && t.turns[t.path[1]].Role == memory.RoleAssistant
	otherChat := users == 1 && slight(t.turns[on[0]].Content) && t.speaks(t.beyond(on[len(on)-1]), memory.RoleUser)
	f.continues = f.whole || f.answer > 0 && len(on) >= 2 && !otherChat
	return f
}
