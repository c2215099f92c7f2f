package thread

import (
	"slices"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// maxAnswerLookups is the maximum number of a request's answers that lastActiveAnswer compares.
const maxAnswerLookups = 8

// messageMatch is a message of a request with its stored turn.
type messageMatch struct {
	messageIndex int // index in the request's history (see [historyIndexes])
	turnIndex    int
}

// matchRequest returns the messages that the tree contains, in order. The request continues after the last match. The
// matches are a shared beginning and the messages around the last active answer, because a client may omit or
// summarize earlier messages.
func (t *tree) matchRequest(r Request) []messageMatch {
	matches := t.matchPrefix(r)
	from, after := nextMessageIndex(matches), -1
	if len(matches) > 0 {
		after = t.turns[matches[len(matches)-1].turnIndex].Index
	}
	if i, turn := t.lastActiveAnswer(r, from, after); turn >= 0 {
		matches = append(matches, t.matchBackward(r, i, turn, from)...)
		return append(matches, t.matchForward(turn, r, i+1)...)
	}
	return matches
}

// nextMessageIndex returns the index of the message after the matches.
func nextMessageIndex(matches []messageMatch) int {
	if len(matches) == 0 {
		return 0
	}
	return matches[len(matches)-1].messageIndex + 1
}

// matchPrefix returns the longest beginning of the request that ends at a stored turn. A single message matches
// only as a retry without an answer. If tool steps follow message 0, only message 0 is compared.
func (t *tree) matchPrefix(r Request) []messageMatch {
	alone := r.OnlyMessageIndex() >= 0
	if alone && !r.DeclaredRetry {
		return nil
	}
	last := len(r.history) - 1
	if last > 0 && r.history[0] == chatapi.LastUser(r.messages) && r.messageAt(1).ToolCalls {
		last = 0
	}
	for i := last; i >= 0; i-- {
		ends := t.turnsByChain[r.chains[i]]
		if len(ends) == 0 {
			continue
		}
		best := ends[0]
		for _, n := range ends[1:] {
			if t.compareSiblings(n, best) < 0 {
				best = n
			}
		}
		if alone && len(t.children[best+1]) > 0 { // the turn already has an answer, so this is no retry
			return nil
		}
		var matches []messageMatch
		for _, n := range slices.Backward(t.pathTo(best)) {
			for ; i >= 0 && r.chains[i] != t.turns[n].Chain; i-- {
			}
			if i >= 0 {
				matches = append(matches, messageMatch{i, n})
			}
		}
		slices.Reverse(matches)
		return append(matches, t.matchForward(best, r, nextMessageIndex(matches))...)
	}
	return nil
}

// lastActiveAnswer returns the last answer, among the messages from firstIndex on, that is an active turn with an
// index higher than afterIndex. turnIndex is negative if there is no such answer. An answer with a common text
// must match with its previous message or be message 0. If turns follow, the answer must have gone through Loci.
func (t *tree) lastActiveAnswer(r Request, firstIndex, afterIndex int) (messageIndex, turnIndex int) {
	for i, tries := len(r.history)-1, 0; i >= firstIndex && tries < maxAnswerLookups; i-- {
		if r.messageAt(i).Role != memory.RoleAssistant {
			continue
		}
		tries++
		last := notLoaded
		for _, n := range slices.Backward(t.activeTurns) {
			if t.turns[n].Index <= afterIndex || !t.hasDigest(n, r.messageAt(i).Digest) {
				continue
			}
			isLast := t.isLastActive(n, r, i+1)
			isDistinctive := !isCommonText(r.messageAt(i).Text)
			if p := t.parents[n]; p >= 0 && i > 0 && t.hasDigest(p, r.messageAt(i-1).Digest) {
				if isLast && firstIndex == 0 || (isLast || wentThroughLoci(&t.turns[n])) && (isDistinctive || !isCommonText(r.messageAt(i-1).Text)) {
					return i, n
				}
			}
			if isLast && last == notLoaded && (isDistinctive || i == 0) {
				last = n
			}
		}
		if last != notLoaded {
			return i, last
		}
	}
	return 0, notLoaded
}

// isLastActive reports whether no active turn follows the given turn, except the turn of message nextMessageIndex,
// which an earlier attempt may have stored.
func (t *tree) isLastActive(turnIndex int, r Request, nextMessageIndex int) bool {
	return !slices.ContainsFunc(t.children[turnIndex+1], func(child int) bool {
		return t.turns[child].Status == memory.Active && (nextMessageIndex >= len(r.history) || !t.hasDigest(child, r.messageAt(nextMessageIndex).Digest))
	})
}

// matchBackward matches messages with a turn and its ancestors, from messageIndex backwards to firstIndex.
func (t *tree) matchBackward(r Request, messageIndex, turnIndex, firstIndex int) []messageMatch {
	var matches []messageMatch
	for i := messageIndex; i >= firstIndex && turnIndex >= 0 && t.hasDigest(turnIndex, r.messageAt(i).Digest); i-- {
		matches = append([]messageMatch{{i, turnIndex}}, matches...)
		turnIndex = t.parents[turnIndex]
	}
	return matches
}

// matchForward matches the messages from messageIndex with the descendants of a turn, as far as they are stored.
func (t *tree) matchForward(turnIndex int, r Request, messageIndex int) []messageMatch {
	var matches []messageMatch
	for i := messageIndex; i < len(r.history); i++ {
		if turnIndex = t.childWithDigest(turnIndex, r.messageAt(i).Digest); turnIndex < 0 {
			break
		}
		matches = append(matches, messageMatch{i, turnIndex})
	}
	return matches
}

// childWithDigest returns the child of a turn with this digest, or a negative number.
func (t *tree) childWithDigest(turnIndex int, digest string) int {
	for _, i := range t.children[turnIndex+1] {
		if t.hasDigest(i, digest) {
			return i
		}
	}
	return notLoaded
}

// hasDigest reports whether a turn's message has this digest. It returns false if the turn's parent is not loaded.
func (t *tree) hasDigest(turnIndex int, digest string) bool {
	parent := t.parents[turnIndex]
	return parent != notLoaded && ChainHash(t.chainOf(parent), digest) == t.turns[turnIndex].Chain
}

// wentThroughLoci reports whether a turn is an answer that Loci received from a model, instead of an answer
// in a client's history.
func wentThroughLoci(t *memory.Turn) bool {
	hidden := t.Status == memory.Retired && t.Content == ""
	return t.Role == memory.RoleAssistant && (!t.NoLearn || hidden)
}
