package thread

import (
	"cmp"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Request is the messages of a request, read once.
type Request struct {
	msgs   []chatapi.Message
	hist   []int    // the messages of the conversation
	chains []string // of the paths that end with each of them
	most   int      // how many of its messages are kept; 0: all
	now    int      // index of the first current message

	// DeclaredRetry says that the client declares the request a repetition.
	DeclaredRetry bool

	// ClientLeft says that the client stopped waiting: it may have repeated the request elsewhere and
	// continued there.
	ClientLeft bool
}

// NewRequest reads messages, which must not change while the request is in use. Of more than most
// new messages only the last are kept; 0: all.
func NewRequest(msgs []chatapi.Message, most int) Request {
	r := Request{msgs: msgs, hist: history(msgs), most: most, now: firstCurrent(msgs)}
	r.chains = make([]string, 0, len(r.hist))
	chain := ""
	for _, i := range r.hist {
		chain = cmp.Or(msgs[i].Chain, Chain(chain, msgs[i].Digest))
		r.chains = append(r.chains, chain)
	}
	return r
}

// Chains returns, for each message except system messages, the chain of the path that ends there:
// of the last ones, if the request exceeds the limit.
func (r Request) Chains() []string { return r.lastOf(r.chains) }

// AnswerChains returns the chains that include the request's last answer, none without an answer. A
// conversation with one of them takes precedence, so that the others need not be looked up.
func (r Request) AnswerChains() []string {
	for i := len(r.hist) - 1; i >= 0; i-- {
		if r.at(i).Role == memory.RoleAssistant {
			return r.lastOf(r.chains[i:])
		}
	}
	return nil
}

func (r Request) lastOf(chains []string) []string {
	if r.most > 0 && len(chains) > r.most {
		return chains[len(chains)-r.most:]
	}
	return chains
}

// OnlyMessage returns the index of the conversation's only message in the request, -1 for more or none.
// Its text does not show whether it was sent before.
func (r Request) OnlyMessage() int {
	if len(r.hist) != 1 {
		return -1
	}
	return r.hist[0]
}

// at returns message i of the conversation.
func (r Request) at(i int) *chatapi.Message { return &r.msgs[r.hist[i]] }

// isCurrent reports whether the messages from one on are current: the user's last message, and the
// steps of tools after it.
func (r Request) isCurrent(from int) bool {
	return from < len(r.hist) && r.hist[from] >= r.now
}

// firstCurrent returns the index of the first current message. It is past the end if an instruction
// of the client follows the answer to the user's last message: opencode asks its model to continue
// after a summary for which it invented a question.
func firstCurrent(msgs []chatapi.Message) int {
	last := chatapi.LastUser(msgs)
	for i := last + 1; i > 0 && i+1 < len(msgs); i++ {
		if msgs[i].Role == memory.RoleAssistant && !msgs[i].ToolCalls && msgs[i+1].Role == memory.RoleSystem {
			return len(msgs)
		}
	}
	return last
}

// unanswered returns the first of the user's messages without an answer before the current one:
// some clients split one message into several.
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
