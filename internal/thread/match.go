package thread

import (
	"slices"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// maxTries is how many answers of a request are looked for among the active turns, from the
// last one on, where its beginning does not tell how much of it is known.
const maxTries = 8

// known is a message of a request that a stored turn says.
type known struct {
	message int // among those that make up the conversation
	turn    int
}

// match returns the messages that the tree holds, in order. The last of them is where the
// request goes on from. It is found by the beginning of the request, which a stored path
// shares, or further on by the last answer that is active: a client may leave out, or sum
// up, what stands before that.
func (t *tree) match(r Request) []known {
	on := t.prefix(r)
	from, after := end(on), -1
	if len(on) > 0 {
		after = t.turns[on[len(on)-1].turn].Index
	}
	if i, turn := t.anchor(r, from, after); turn >= 0 {
		on = append(on, t.back(r, i, turn, from)...)
		return append(on, t.walk(turn, r, i+1)...)
	}
	return on
}

// end returns the message after those that are known.
func end(on []known) int {
	if len(on) == 0 {
		return 0
	}
	return on[len(on)-1].message + 1
}

// prefix returns the messages of the longest beginning of the request that ends at a stored
// turn; of a message alone only if it is retried and was not answered. A chain is a hash over all that stands before, so that of
// the messages before it those are known which are stored. A step of tools behind a message
// alone goes on from the last turn that says it, whatever steps others had.
func (t *tree) prefix(r Request) []known {
	alone := r.Alone() >= 0
	if alone && !r.Again {
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
		if alone && len(t.kids[best+1]) > 0 { // it was answered, and the first try is not here
			return nil
		}
		var on []known
		for _, n := range slices.Backward(t.pathTo(best)) {
			for ; i >= 0 && r.chains[i] != t.turns[n].Chain; i-- {
			}
			if i >= 0 {
				on = append(on, known{i, n})
			}
		}
		slices.Reverse(on)
		return append(on, t.walk(best, r, end(on))...)
	}
	return nil
}

// anchor returns the last answer among the messages from one on that is active behind an
// index, and its turn; turn is negative for none. Words that many answers have prove nothing:
// the message before it must stand there, too, or nothing after it. And only one that went
// through Loci proves that what comes after it was replaced.
func (t *tree) anchor(r Request, from, after int) (message, turn int) {
	for i, tries := len(r.hist)-1, 0; i >= from && tries < maxTries; i-- {
		if r.at(i).Role != memory.RoleAssistant {
			continue
		}
		tries++
		last := absent
		for _, n := range slices.Backward(t.active) {
			if t.turns[n].Index <= after || !t.says(n, r.at(i).Digest) {
				continue
			}
			ends := t.endsWith(n, r, i+1)
			tells := !slight(r.at(i).Text)
			if p := t.parent[n]; p >= 0 && i > 0 && t.says(p, r.at(i-1).Digest) {
				if ends && from == 0 || (ends || heard(&t.turns[n])) && (tells || !slight(r.at(i-1).Text)) {
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

// endsWith reports whether nothing active stands after a turn, but for what says the message:
// the request was laid there before.
func (t *tree) endsWith(turn int, r Request, message int) bool {
	return !slices.ContainsFunc(t.kids[turn+1], func(kid int) bool {
		return t.turns[kid].Status == memory.Active && (message >= len(r.hist) || !t.says(kid, r.at(message).Digest))
	})
}

// back returns the messages from one on that stand right before a turn, and that turn.
func (t *tree) back(r Request, message, turn, from int) []known {
	var on []known
	for i := message; i >= from && turn >= 0 && t.says(turn, r.at(i).Digest); i-- {
		on = append([]known{{i, turn}}, on...)
		turn = t.parent[turn]
	}
	return on
}

// walk follows the messages from one on downward from a turn, as far as stored turns say
// the same.
func (t *tree) walk(turn int, r Request, message int) []known {
	var on []known
	for i := message; i < len(r.hist); i++ {
		if turn = t.next(turn, r.at(i).Digest); turn < 0 {
			break
		}
		on = append(on, known{i, turn})
	}
	return on
}

// next returns the stored turn that follows another with a message of that digest, negative
// for none.
func (t *tree) next(turn int, digest string) int {
	for _, i := range t.kids[turn+1] {
		if t.says(i, digest) {
			return i
		}
	}
	return absent
}

// says reports whether a turn says a message of that digest, by the chain of its parent:
// of a turn whose parent is not loaded that is not known.
func (t *tree) says(turn int, digest string) bool {
	parent := t.parent[turn]
	return parent != absent && Chain(t.chain(parent), digest) == t.turns[turn].Chain
}

// heard reports whether a turn is an answer that went through Loci, and not one that a
// client brought along: of those none is learned from.
func heard(t *memory.Turn) bool {
	hidden := t.Status == memory.Retired && t.Content == ""
	return t.Role == memory.RoleAssistant && (!t.NoLearn || hidden)
}
