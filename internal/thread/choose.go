package thread

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci/memory"
)

// RetryWindow is how long a request whose answers Loci did not give, sent again or with its
// first answer in other words, is taken for the same chat and not for one that begins alike.
const RetryWindow = 10 * time.Minute

// Candidate is a stored conversation with the turns of all its branches.
type Candidate struct {
	Conversation memory.Conversation
	Turns        []memory.Turn
}

// Choose returns the index of the conversation that a request without an id continues, -1 if
// it begins a new one. The two share a beginning, and one of these holds:
//
//   - It has an answer that went through Loci. Where going on from there takes back what the
//     user said since, the request replaces just that, and the two share more than greetings.
//   - Nothing that is active stands after it.
//   - It is all of the request, its history included, of a conversation that was updated
//     within [RetryWindow] of now: a retry. The chat may have gone on from it only where the client has left.
//   - Within that time, the request goes on with the answer in other words.
//
// Among several the one that shares the latest answer is taken, since answers are what tells
// chats that begin alike apart; then a retry, one that is shared whole, the one that shares
// most, and the one updated last.
func Choose(cands []Candidate, r Request, now time.Time) int {
	best, top := -1, fit{}
	for i, c := range cands {
		f := fitOf(c, r)
		f.recent = now.Sub(c.Conversation.UpdatedAt).Abs() <= RetryWindow
		f.retry = f.recent && (!f.pushes || r.Left) && f.shared == len(r.hist)
		if f.continues(r) && (best < 0 || f.compare(top) > 0) {
			best, top = i, f
		}
	}
	return best
}

// fit is how well a conversation fits a request.
type fit struct {
	shared  int  // messages
	asked   bool // the last of them is the user's
	answer  int  // place of the last shared answer that went through Loci, from 1; 0 for none
	retry   bool // the request was just made, as it is
	whole   bool // nothing that is active stands after what is shared
	telling bool // what is shared is more than greetings
	pushes  bool // taking it would push out words of the user
	now     bool // what would do so is said now
	recent  bool
	updated time.Time
	id      string
}

func fitOf(c Candidate, r Request) fit {
	t := newTree(c.Turns)
	f := fit{updated: c.Conversation.UpdatedAt, id: c.Conversation.ID}
	on := t.prefix(r)
	if len(on) == 0 {
		return f
	}
	for _, k := range on {
		switch turn := &t.turns[k.turn]; turn.Role {
		case memory.RoleAssistant:
			if heard(turn) {
				f.answer = k.message + 1
			}
			f.telling = f.telling || r.at(k.message).Chain != "" // named by its id
		case memory.RoleUser:
			f.telling = f.telling || !slight(turn.Content)
		}
	}
	f.shared, f.asked = end(on), t.turns[on[len(on)-1].turn].Role == memory.RoleUser
	f.whole = f.shared < len(r.hist) && len(t.displaced(t.pathTo(on[len(on)-1].turn))) == 0
	on = t.match(r)
	f.pushes = t.speaks(t.displaced(t.pathTo(on[len(on)-1].turn)), memory.RoleUser)
	f.now = r.saidNow(end(on))
	return f
}

func (f fit) continues(r Request) bool {
	switch {
	case f.shared == 0:
		return false
	case f.whole || f.retry:
		return true
	case f.pushes:
		return f.answer > 0 && f.telling && f.now
	case f.answer > 0:
		return true
	}
	return f.recent && f.telling && f.asked && f.shared < len(r.hist) && r.at(f.shared).Role == memory.RoleAssistant
}

func (f fit) compare(g fit) int {
	return cmp.Or(cmp.Compare(f.answer, g.answer), cmp.Compare(bit(f.retry), bit(g.retry)),
		cmp.Compare(bit(f.whole), bit(g.whole)), cmp.Compare(f.shared, g.shared), f.updated.Compare(g.updated), cmp.Compare(g.id, f.id))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
