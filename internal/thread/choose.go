package thread

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci/memory"
)

// RetryWindow is the time after a conversation's last update in which a request that repeats its messages, or that has
// another text in place of its last answer, continues the conversation instead of beginning a new one.
const RetryWindow = 10 * time.Minute

// Candidate is a stored conversation with the turns of all its branches.
type Candidate struct {
	Conversation memory.Conversation
	Turns        []memory.Turn
}

// ChooseConversation returns the index of the conversation that a request without an id continues, or -1 for a
// new conversation. The two must share a beginning, and one of these conditions must be true:
//
//   - The shared part has an answer that went through Loci. If words of the user follow the shared part, the request must have new messages in their place, and the shared part must not consist of greetings.
//   - The conversation has no active turn after the shared part.
//   - The request is a retry: all its messages are in a conversation updated within [RetryWindow] of now. If the conversation continues with words of the user, the client must have stopped waiting for the answer.
//   - The conversation was updated within [RetryWindow], and after the shared part the request has an answer with another text.
//
// Of several conversations, the order of preference is: the latest shared answer (answers distinguish chats
// with equal beginnings), a retry, no further turns, the longest shared part, the latest update.
func ChooseConversation(cands []Candidate, r Request, now time.Time) int {
	best, bestRating := -1, matchRating{}
	for i, c := range cands {
		f := rateMatch(c, r)
		f.isRecent = now.Sub(c.Conversation.UpdatedAt).Abs() <= RetryWindow
		f.isRetry = f.isRecent && (!f.replacesUser || r.ClientStopped) && f.sharedCount == len(r.history)
		if f.isContinuation(r) && (best < 0 || f.compare(bestRating) > 0) {
			best, bestRating = i, f
		}
	}
	return best
}

// matchRating rates how well a conversation matches a request.
type matchRating struct {
	sharedCount        int  // number of shared messages
	endsWithUser       bool // the last shared message is the user's
	lastAnswer         int  // position of the last shared answer that went through Loci, counted from 1; 0 for none
	isRetry            bool // the request repeats a request within [RetryWindow]
	coversConversation bool // no active turn follows the shared part
	isDistinctive      bool // the shared part has more than greetings
	replacesUser       bool // the request would replace words of the user
	hasNewReplacement  bool // the request has new messages in place of the replaced words
	isRecent           bool
	updatedAt          time.Time
	id                 string
}

func rateMatch(c Candidate, r Request) matchRating {
	t := newTree(c.Turns)
	f := matchRating{updatedAt: c.Conversation.UpdatedAt, id: c.Conversation.ID}
	matches := t.matchPrefix(r)
	if len(matches) == 0 {
		return f
	}
	for _, k := range matches {
		switch turn := &t.turns[k.turnIndex]; turn.Role {
		case memory.RoleAssistant:
			if wentThroughLoci(turn) {
				f.lastAnswer = k.messageIndex + 1
			}
			f.isDistinctive = f.isDistinctive || r.messageAt(k.messageIndex).Chain != "" // an id identifies the turn
		case memory.RoleUser:
			f.isDistinctive = f.isDistinctive || !isCommonText(turn.Content)
		}
	}
	f.sharedCount, f.endsWithUser = nextMessageIndex(matches), t.turns[matches[len(matches)-1].turnIndex].Role == memory.RoleUser
	f.coversConversation = f.sharedCount < len(r.history) && len(t.turnsReplacedBy(t.pathTo(matches[len(matches)-1].turnIndex))) == 0
	matches = t.matchRequest(r)
	f.replacesUser = t.anyHasRole(t.turnsReplacedBy(t.pathTo(matches[len(matches)-1].turnIndex)), memory.RoleUser)
	f.hasNewReplacement = r.areCurrent(nextMessageIndex(matches))
	return f
}

func (f matchRating) isContinuation(r Request) bool {
	switch {
	case f.sharedCount == 0:
		return false
	case f.coversConversation || f.isRetry:
		return true
	case f.replacesUser:
		return f.lastAnswer > 0 && f.isDistinctive && f.hasNewReplacement
	case f.lastAnswer > 0:
		return true
	}
	return f.isRecent && f.isDistinctive && f.endsWithUser && f.sharedCount < len(r.history) && r.messageAt(f.sharedCount).Role == memory.RoleAssistant
}

func (f matchRating) compare(other matchRating) int {
	return cmp.Or(cmp.Compare(f.lastAnswer, other.lastAnswer), cmp.Compare(boolToInt(f.isRetry), boolToInt(other.isRetry)),
		cmp.Compare(boolToInt(f.coversConversation), boolToInt(other.coversConversation)), cmp.Compare(f.sharedCount, other.sharedCount), f.updatedAt.Compare(other.updatedAt), cmp.Compare(other.id, f.id))
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
