package dialog

import (
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// Request is the messages of a request, read once for all that is asked of them.
type Request struct {
	msgs   []wire.Message
	hist   []int    // those that make up the conversation
	chains []string // of the paths that end with each of them; nil for a part of a request
}

// NewRequest reads messages, which are not to be written to while the request is used.
func NewRequest(msgs []wire.Message) Request {
	r := Request{msgs: msgs, hist: history(msgs)}
	r.chains = make([]string, 0, len(r.hist))
	chain := ""
	for _, i := range r.hist {
		chain = Chain(chain, msgs[i].Digest)
		r.chains = append(r.chains, chain)
	}
	return r
}

// Chains returns, for each message that is not a system one, the chain of the
// path that ends there.
func (r Request) Chains() []string { return r.chains }

// Telling returns those of the chains that hold the request's last answer, none if it
// has no answer. A conversation that shares it is chosen before all that do not, so
// that the others need not be looked for unless none of those is.
func (r Request) Telling() []string {
	for i := len(r.hist) - 1; i >= 0; i-- {
		if r.at(i).Role == memory.RoleAssistant {
			return r.chains[i:]
		}
	}
	return nil
}

// at returns message i of those that make up the conversation.
func (r Request) at(i int) *wire.Message { return &r.msgs[r.hist[i]] }

// from is the part of the request that begins at message k of those that make up the
// conversation.
func (r Request) from(k int) Request {
	if k == 0 {
		return r
	}
	return Request{msgs: r.msgs, hist: r.hist[k:]}
}

// history returns the indexes of the messages that make up the conversation.
func history(msgs []wire.Message) []int {
	out := make([]int, 0, len(msgs))
	for i := range msgs {
		if msgs[i].Role != memory.RoleSystem {
			out = append(out, i)
		}
	}
	return out
}
