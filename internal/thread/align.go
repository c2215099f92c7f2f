package thread

import (
	"slices"
	"sort"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Alignment is a request matched with the tree of its conversation.
type Alignment struct {
	// TurnIDs has, for each message of the request, the id of its stored turn, or "" for new messages, system
	// messages, and messages before the first match that are not stored.
	TurnIDs []string

	// ParentID is the id of the stored turn before the first new turn, or, without new turns, before the
	// answer. "" means the start of the conversation.
	ParentID string
	NewTurns []TurnPosition // the turns to store, in order; each is the child of the previous one

	LeavingIDs   []string // ids of active turns to remove from the current branch
	RejoiningIDs []string // ids of replaced turns to return to the current branch

	IsRetry          bool // the last user message is already stored, so there is nothing to learn
	DroppedMessages  int  // number of new messages that exceed the limit and are not stored
	FollowsKnownTurn bool // the new turns follow an answer that went through Loci, or a turn named by the client

	tree         *tree
	parentIndex  int
	nextIndex    int          // index in the conversation ([memory.Turn.Index]) for the turn after the parent
	lastPosition TurnPosition // position of the turn before the answer; MessageIndex is not set
}

// TurnPosition is the position of a message in the conversation.
type TurnPosition struct {
	MessageIndex int    // index of the message in the request
	TurnIndex    int    // index of the turn in the conversation ([memory.Turn.Index]); higher than its parent's
	Chain        string // chain hash of the turn
	IsHistory    bool   // the message precedes the last user message, so no facts are learned from it
}

// Align matches a request with the turns of its conversation on all branches. turns may omit old turns. Messages after
// the last match are new. A request begins a new root if no message matches. It also does so to keep words of the
// user, unless a matched answer went through Loci and the new messages are current.
func Align(turns []memory.Turn, r Request) Alignment {
	t := newTree(turns)
	matches := t.matchRequest(r)
	if len(matches) == 0 {
		return t.align(r, nil, noParent, 0)
	}
	parent := matches[len(matches)-1].turnIndex
	proven := slices.ContainsFunc(matches, func(k messageMatch) bool { return wentThroughLoci(&t.turns[k.turnIndex]) })
	if next := nextMessageIndex(matches); next < len(r.history) {
		if t.isOmittedByClient(parent, r.messageAt(next).Role) || !(proven && r.areCurrent(next)) && t.anyHasRole(t.turnsReplacedBy(t.pathTo(parent)), memory.RoleUser) {
			return t.align(r, matches, noParent, 0)
		}
	}
	a := t.align(r, matches, parent, 0)
	a.FollowsKnownTurn = proven
	return a
}

// isOmittedByClient reports whether a client omitted the active turn after turnIndex to shorten the history, instead
// of replacing it: the next message has another role than the turn.
func (t *tree) isOmittedByClient(turnIndex int, role memory.Role) bool {
	return slices.ContainsFunc(t.children[turnIndex+1], func(child int) bool {
		return t.turns[child].Status == memory.Active && t.turns[child].Role != role
	})
}

// Values for the parameter afterID of [AlignAfter] if the request follows no turn.
const (
	AtBeginning = "beginning"

	// AsOnlyBeginning means AtBeginning, and that the request's turns replace all other beginnings of the conversation.
	AsOnlyBeginning = "first"
)

// AlignAfter aligns a request whose client names its position: the messages from firstIndex on follow the turn with
// the id afterID. They match only turns at that position. If the turn is missing, the result is that of [Align].
func AlignAfter(turns []memory.Turn, r Request, afterID string, firstIndex int) Alignment {
	parent := noParent
	if afterID != AtBeginning && afterID != AsOnlyBeginning {
		if parent = slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == afterID }); parent < 0 {
			return Align(turns, r)
		}
	}
	t := newTree(turns)
	t.replacesAllRoots = afterID == AsOnlyBeginning
	next := sort.SearchInts(r.history, firstIndex)
	matches := append(t.matchBackward(r, next-1, parent, 0), t.matchForward(parent, r, next)...)
	if len(matches) > 0 {
		parent = matches[len(matches)-1].turnIndex
	}
	a := t.align(r, matches, parent, next)
	a.FollowsKnownTurn = true
	return a
}

// align returns the alignment for matches. The messages after the last match, or from firstIndex on if there is
// no match, follow the turn parent.
func (t *tree) align(r Request, matches []messageMatch, parent, firstIndex int) Alignment {
	a := Alignment{TurnIDs: make([]string, len(r.messages)), ParentID: t.idOf(parent), tree: t, parentIndex: parent}
	newMessages := r.history[firstIndex:]
	for _, k := range matches {
		a.TurnIDs[r.history[k.messageIndex]] = t.turns[k.turnIndex].ID
		newMessages = r.history[k.messageIndex+1:]
	}
	a.placeNewMessages(r, newMessages)
	a.setMovedTurns(t.pathTo(parent))
	return a
}

// AlignStored aligns a request that is already stored. turnIDs are the turns of its messages, "" for messages without
// a turn. No message is new, and turns that have replaced the request's turns are removed from the branch. If the
// last id is missing in turns, the result is that of [Align].
func AlignStored(turns []memory.Turn, r Request, turnIDs []string) Alignment {
	if len(r.history) == 0 {
		return Align(turns, r)
	}
	parent := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == turnIDs[r.history[len(r.history)-1]] })
	if parent < 0 {
		return Align(turns, r)
	}
	t := newTree(turns)
	a := Alignment{TurnIDs: slices.Clone(turnIDs), ParentID: t.idOf(parent), tree: t, parentIndex: parent}
	a.placeNewMessages(r, nil)
	a.setMovedTurns(t.pathTo(parent))
	return a
}

// Path returns the current branch from the first position that the request or its answer changes. newIDs
// are the ids of the turns after the last match. Active turns of other roots stay.
func (a Alignment) Path(newIDs ...string) *memory.Path {
	t, path := a.tree, a.tree.pathTo(a.parentIndex)
	p := &memory.Path{From: a.nextIndex}
	if back := slices.IndexFunc(path, func(i int) bool { return t.turns[i].Status == memory.Replaced }); back >= 0 {
		p.From = t.turns[path[back]].Index
		path, p.Turns = path[:back], t.idsOf(path[back:])
	}
	if len(path) > 0 {
		if before := &t.turns[path[len(path)-1]]; before.Status == memory.Active && before.Index == p.From-1 {
			p.After = before.ID
		}
	}
	p.Turns = append(p.Turns, newIDs...)
	for _, i := range t.activeTurns {
		if t.turns[i].Index >= p.From && (a.parentIndex < 0 || t.roots[i] != t.roots[a.parentIndex]) {
			p.Turns = append(p.Turns, t.turns[i].ID)
		}
	}
	return p
}

// UserContinued reports whether the user wrote something after the request, which an answer to the request
// must not replace.
func (a Alignment) UserContinued() bool {
	return a.tree.anyHasRole(a.tree.turnsReplacedBy(a.tree.pathTo(a.parentIndex)), memory.RoleUser)
}

// placeNewMessages assigns positions after the parent to the new messages, or only to the last maxNew. It sets
// IsRetry if the last user message is not new.
func (a *Alignment) placeNewMessages(r Request, newMessages []int) {
	if last := chatapi.LastUser(r.messages); last >= 0 {
		a.IsRetry = a.TurnIDs[last] != ""
	}
	a.nextIndex = a.tree.nextIndex(a.parentIndex)
	a.lastPosition = TurnPosition{TurnIndex: a.nextIndex - 1, Chain: a.tree.chainOf(a.parentIndex)}
	if before := len(r.history) - len(newMessages); a.parentIndex == noParent && before > 0 && len(newMessages) > 0 {
		a.lastPosition.Chain = r.chains[before-1] // so that the chain identifies the answer's place in the request
	}
	if r.maxNew > 0 {
		a.DroppedMessages = max(0, len(newMessages)-r.maxNew)
	}
	unanswered := r.firstUnansweredIndex()
	for k, i := range newMessages {
		a.lastPosition = TurnPosition{
			MessageIndex: i,
			TurnIndex:    a.lastPosition.TurnIndex + 1,
			Chain:        ChainHash(a.lastPosition.Chain, r.messages[i].Digest),
			IsHistory:    i < unanswered,
		}
		if k >= a.DroppedMessages {
			a.NewTurns = append(a.NewTurns, a.lastPosition)
		}
	}
}

// setMovedTurns sets the turns that leave and rejoin the current branch; path is the branch of the request. A
// request without new or replaced turns moves no turns before its answer arrives.
func (a *Alignment) setMovedTurns(path []int) {
	rejoin := a.tree.replacedIDs(path...)
	if len(a.NewTurns) == 0 && len(rejoin) == 0 {
		return
	}
	a.LeavingIDs, a.RejoiningIDs = a.tree.idsOf(a.tree.turnsReplacedBy(path)), rejoin
}

// AnswerPosition is the position of an answer in the conversation.
type AnswerPosition struct {
	StoredID     string // id of the stored turn with the same text and position; "" for a new turn
	TurnIndex    int
	Chain        string
	LeavingIDs   []string // ids of active turns to remove from the current branch, in addition to [Alignment.LeavingIDs]
	RejoiningIDs []string
}

// AlignAnswer returns the position of an answer with this digest. An answer on the current branch changes nothing;
// any other answer replaces the turns after its question. A caller that waited for the answer must call
// [AlignStored] first, because of turns recorded while it waited.
func (a Alignment) AlignAnswer(digest string) AnswerPosition {
	r := AnswerPosition{TurnIndex: a.lastPosition.TurnIndex + 1, Chain: ChainHash(a.lastPosition.Chain, digest)}
	if len(a.NewTurns) > 0 {
		return r
	}
	path := a.tree.pathTo(a.parentIndex)
	if i := a.tree.childWithDigest(a.parentIndex, digest); i >= 0 {
		r.StoredID = a.tree.turns[i].ID
		if a.tree.turns[i].Status == memory.Active {
			return r
		}
		path = append(path, i)
		r.RejoiningIDs = a.tree.replacedIDs(i)
	}
	for _, id := range a.tree.idsOf(a.tree.turnsReplacedBy(path)) {
		if !slices.Contains(a.LeavingIDs, id) {
			r.LeavingIDs = append(r.LeavingIDs, id)
		}
	}
	return r
}
