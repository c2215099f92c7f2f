package thread

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci/memory"
)

// RetryWindow is the time in which a repeated request counts as a retry in the same chat, instead of a new
// chat with the same beginning. It applies if no answer went through Loci, or if the answer has other words.
const RetryWindow = 10 * time.Minute

// Candidate is a stored conversation with the turns of all its branches.
type Candidate struct {
	Conversation memory.Conversation
	Turns        []memory.Turn
}

// Choose returns the index of the conversation that a request without an id continues, or -1 for a new
// conversation. Both must share a beginning, and one of these conditions must be true:
//
//   - The shared part has an answer that went through Loci. If the request replaces later words of the user, it must have new messages in their place and share more than greetings.
//   - No active turn follows the shared part.
//   - The request is a retry: all its messages are in a conversation updated within [RetryWindow] of now. Later words of the user may follow only if the client stopped waiting.
//   - The conversation was updated within [RetryWindow], and the request has its answer in other words.
//
// Of several conversations, the order of preference is: the latest shared answer (answers distinguish chats
// with equal beginnings), a retry, no further turns, the longest shared part, the latest update.
func Choose(cands []Candidate, r Request, now time.Time) int {
	best, top := -1, matchRating{}
	for i, c := range cands {
		f := rateMatch(c, r)
		f.recent = now.Sub(c.Conversation.UpdatedAt).Abs() <= RetryWindow
		f.retry = f.recent && (!f.replacesUser || r.ClientLeft) && f.shared == len(r.hist)
		if f.continues(r) && (best < 0 || f.compare(top) > 0) {
			best, top = i, f
		}
	}
	return best
}

// matchRating rates how well a conversation matches a request.
type matchRating struct {
	shared        int  // number of shared messages
	asked         bool // the last shared message is the user's
	answer        int  // position of the last shared answer that went through Loci, counted from 1; 0 for none
	retry         bool // the request repeats a request within [RetryWindow]
	isComplete    bool // no active turn follows the shared part
	isDistinctive bool // the shared part has more than greetings
	replacesUser  bool // the request would replace words of the user
	replacesByNew bool // the request has new messages in place of the replaced words
	recent        bool
	updated       time.Time
	id            string
}

func rateMatch(c Candidate, r Request) matchRating {
	t := newTree(c.Turns)
	f := matchRating{updated: c.Conversation.UpdatedAt, id: c.Conversation.ID}
	on := t.prefix(r)
	if len(on) == 0 {
		return f
	}
	for _, k := range on {
		switch turn := &t.turns[k.turn]; turn.Role {
		case memory.RoleAssistant:
			if wentThroughLoci(turn) {
				f.answer = k.message + 1
			}
			f.isDistinctive = f.isDistinctive || r.at(k.message).Chain != "" // an id identifies the turn
		case memory.RoleUser:
			f.isDistinctive = f.isDistinctive || !isCommonText(turn.Content)
		}
	}
	f.shared, f.asked = end(on), t.turns[on[len(on)-1].turn].Role == memory.RoleUser
	f.isComplete = f.shared < len(r.hist) && len(t.displaced(t.pathTo(on[len(on)-1].turn))) == 0
	on = t.match(r)
	f.replacesUser = t.hasRole(t.displaced(t.pathTo(on[len(on)-1].turn)), memory.RoleUser)
	f.replacesByNew = r.isCurrent(end(on))
	return f
}

func (f matchRating) continues(r Request) bool {
	switch {
	case f.shared == 0:
		return false
	case f.isComplete || f.retry:
		return true
	case f.replacesUser:
		return f.answer > 0 && f.isDistinctive && f.replacesByNew
	case f.answer > 0:
		return true
	}
	return f.recent && f.isDistinctive && f.asked && f.shared < len(r.hist) && r.at(f.shared).Role == memory.RoleAssistant
}

func (f matchRating) compare(g matchRating) int {
	return cmp.Or(cmp.Compare(f.answer, g.answer), cmp.Compare(bit(f.retry), bit(g.retry)),
		cmp.Compare(bit(f.isComplete), bit(g.isComplete)), cmp.Compare(f.shared, g.shared), f.updated.Compare(g.updated), cmp.Compare(g.id, f.id))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
