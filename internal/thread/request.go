package thread

import (
	"cmp"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Request is the messages of a request, read once for all that is asked of them.
type Request struct {
	msgs   []chatapi.Message
	hist   []int    // those that make up the conversation
	chains []string // of the paths that end with each of them
	most   int      // how many of its messages matter; 0: all
	now    int      // from where on they are said now

	// Again says that the client sent the request before, by its own word.
	Again bool

	// Left says that the client waits no more: it may have asked the same elsewhere since,
	// and gone on from there.
	Left bool
}

// NewRequest reads messages, which are not to be written to while the request is used. Of a
// request with more than most messages that are new, the last so many are kept; 0: all.
func NewRequest(msgs []chatapi.Message, most int) Request {
	r := Request{msgs: msgs, hist: history(msgs), most: most, now: saidFrom(msgs)}
	r.chains = make([]string, 0, len(r.hist))
	chain := ""
	for _, i := range r.hist {
		chain = cmp.Or(msgs[i].Chain, Chain(chain, msgs[i].Digest))
		r.chains = append(r.chains, chain)
	}
	return r
}

// Chains returns, for each message that is not a system one, the chain of the path that ends
// there: of the last ones, where the request is longer than what is kept.
func (r Request) Chains() []string { return r.lately(r.chains) }

// Telling returns those of the chains that hold the request's last answer, none if it
// has no answer. A conversation that shares it is chosen before all that do not, so
// that the others need not be looked for unless none of those is.
func (r Request) Telling() []string {
	for i := len(r.hist) - 1; i >= 0; i-- {
		if r.at(i).Role == memory.RoleAssistant {
			return r.lately(r.chains[i:])
		}
	}
	return nil
}

func (r Request) lately(chains []string) []string {
	if r.most > 0 && len(chains) > r.most {
		return chains[len(chains)-r.most:]
	}
	return chains
}

// Alone returns the index of the only message of the conversation that the request holds, -1
// for more or none. Its words do not tell whether it was sent before.
func (r Request) Alone() int {
	if len(r.hist) != 1 {
		return -1
	}
	return r.hist[0]
}

// at returns message i of those that make up the conversation.
func (r Request) at(i int) *chatapi.Message { return &r.msgs[r.hist[i]] }

// saidNow reports whether the messages from one on are what is said now: the last message of
// the user, and the steps of tools after it.
func (r Request) saidNow(from int) bool {
	return from < len(r.hist) && r.hist[from] >= r.now
}

// saidFrom returns the index from which on messages are said now. Where the last message of
// the user has an answer, and an order of the client's own follows that, nothing is: opencode
// asks its model to go on behind a summary that it made up a question for.
func saidFrom(msgs []chatapi.Message) int {
	last := chatapi.LastUser(msgs)
	for i := last + 1; i > 0 && i+1 < len(msgs); i++ {
		if msgs[i].Role == memory.RoleAssistant && !msgs[i].ToolCalls && msgs[i+1].Role == memory.RoleSystem {
			return len(msgs)
		}
	}
	return last
}

// unanswered returns the index from which on all messages are the user's, up to those that are said
// now: some clients send what is said in several.
func (r Request) unanswered() int {
	from := r.now
	for from > 0 && from < len(r.msgs) && (r.msgs[from-1].Role == memory.RoleUser || r.msgs[from-1].Role == memory.RoleSystem) {
		from--
	}
	return from
}

// history returns the indexes of the messages that make up the conversation.
func history(msgs []chatapi.Message) []int {
	out := make([]int, 0, len(msgs))
	for i := range msgs {
		if msgs[i].Role != memory.RoleSystem {
			out = append(out, i)
		}
	}
	return out
}
