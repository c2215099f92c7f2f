package thread

import (
	"slices"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// maxTries is the maximum number of a request's last answers that anchor looks up among the active turns.
const maxTries = 8

// match is a message of a request with its stored turn.
type match struct {
	message int // index in the request's history (see [history])
	turn    int
}

// match returns the messages that the tree contains, in order. The request continues after the last match.
// Matches follow from a shared beginning, or else from the last active answer, because a client may omit or
// summarize earlier messages.
func (t *tree) match(r Request) []match {
	on := t.prefix(r)
	from, after := end(on), -1
	if len(on) > 0 {
		after = t.turns[on[len(on)-1].turn].Index
	}
	if i, turn := t.anchor(r, from, after); turn >= 0 {
		on = append(on, t.matchBackward(r, i, turn, from)...)
		return append(on, t.matchForward(turn, r, i+1)...)
	}
	return on
}

// end returns the index of the message after the matches.
func end(on []match) int {
	if len(on) == 0 {
		return 0
	}
	return on[len(on)-1].message + 1
}

// prefix returns the longest beginning of the request that ends at a stored turn. A single message matches
// only as a retry without an answer. Before tool steps, only the first message is compared.
func (t *tree) prefix(r Request) []match {
	alone := r.OnlyMessage() >= 0
	if alone && !r.DeclaredRetry {
		return nil
	}
	last := len(r.hist) - 1
	if last > 0 && r.hist[0] == chatapi.LastUser(r.msgs) && r.at(1).ToolCalls {
		last = 0
	}
	for i := last; i >= 0; i-- {
		ends := t.ends[r.chains[i]]
		if len(ends) == 0 {
			continue
		}
		best := ends[0]
		for _, n := range ends[1:] {
			if t.prefer(n, best) < 0 {
				best = n
			}
		}
		if alone && len(t.kids[best+1]) > 0 { // the turn already has an answer, so this is no retry
			return nil
		}
		var on []match
		for _, n := range slices.Backward(t.pathTo(best)) {
			for ; i >= 0 && r.chains[i] != t.turns[n].Chain; i-- {
			}
			if i >= 0 {
				on = append(on, match{i, n})
			}
		}
		slices.Reverse(on)
		return append(on, t.matchForward(best, r, end(on))...)
	}
	return nil
}

// anchor returns the last answer, among the messages from index from, that is an active turn with an index
// higher than after. turn is negative if there is no such answer. A common answer needs a matching previous
// message or no later turns. Only an answer that went through Loci shows that later turns were replaced.
func (t *tree) anchor(r Request, from, after int) (message, turn int) {
	for i, tries := len(r.hist)-1, 0; i >= from && tries < maxTries; i-- {
		if r.at(i).Role != memory.RoleAssistant {
			continue
		}
		tries++
		last := absent
		for _, n := range slices.Backward(t.active) {
			if t.turns[n].Index <= after || !t.hasDigest(n, r.at(i).Digest) {
				continue
			}
			ends := t.endsWith(n, r, i+1)
			tells := !isCommonText(r.at(i).Text)
			if p := t.parent[n]; p >= 0 && i > 0 && t.hasDigest(p, r.at(i-1).Digest) {
				if ends && from == 0 || (ends || wentThroughLoci(&t.turns[n])) && (tells || !isCommonText(r.at(i-1).Text)) {
					return i, n
				}
			}
			if ends && last == absent && (tells || i == 0) {
				last = n
			}
		}
		if last != absent {
			return i, last
		}
	}
	return 0, absent
}

// endsWith reports whether no active turn follows the given turn, except the turn of the message itself,
// which an earlier attempt may have stored.
func (t *tree) endsWith(turn int, r Request, message int) bool {
	return !slices.ContainsFunc(t.kids[turn+1], func(kid int) bool {
		return t.turns[kid].Status == memory.Active && (message >= len(r.hist) || !t.hasDigest(kid, r.at(message).Digest))
	})
}

// matchBackward matches messages with a turn and its ancestors, from index message backwards to index from.
func (t *tree) matchBackward(r Request, message, turn, from int) []match {
	var on []match
	for i := message; i >= from && turn >= 0 && t.hasDigest(turn, r.at(i).Digest); i-- {
		on = append([]match{{i, turn}}, on...)
		turn = t.parent[turn]
	}
	return on
}

// matchForward matches the messages from index message with the descendants of a turn, as far as they are stored.
func (t *tree) matchForward(turn int, r Request, message int) []match {
	var on []match
	for i := message; i < len(r.hist); i++ {
		if turn = t.next(turn, r.at(i).Digest); turn < 0 {
			break
		}
		on = append(on, match{i, turn})
	}
	return on
}

// next returns the child of a turn with this digest, or a negative number.
func (t *tree) next(turn int, digest string) int {
	for _, i := range t.kids[turn+1] {
		if t.hasDigest(i, digest) {
			return i
		}
	}
	return absent
}

// hasDigest reports whether a turn's message has this digest. It returns false if the turn's parent is not loaded.
func (t *tree) hasDigest(turn int, digest string) bool {
	parent := t.parent[turn]
	return parent != absent && Chain(t.chain(parent), digest) == t.turns[turn].Chain
}

// wentThroughLoci reports whether a turn is an answer that Loci received from a model, instead of an answer
// in a client's history.
func wentThroughLoci(t *memory.Turn) bool {
	hidden := t.Status == memory.Retired && t.Content == ""
	return t.Role == memory.RoleAssistant && (!t.NoLearn || hidden)
}
