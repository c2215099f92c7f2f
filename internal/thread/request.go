package thread

import (
	"cmp"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Request holds the messages of a request, parsed once.
type Request struct {
	messages          []chatapi.Message
	history           []int    // indexes of the messages that belong to the conversation
	chains            []string // chain hash of the path to each message of history
	maxNew            int      // maximum number of new messages to store; 0 means all
	firstCurrentIndex int      // index of the first current message (see [firstCurrentIndex])

	// DeclaredRetry is set if the client declares the request a retry.
	DeclaredRetry bool

	// ClientStopped is set if the client stopped waiting. The client may have sent the request again and continued
	// from the answer to the repeated request.
	ClientStopped bool
}

// NewRequest parses messages, which must not change while the request is in use. If more than maxNew messages
// are new, only the last maxNew are stored; 0 means all.
func NewRequest(msgs []chatapi.Message, maxNew int) Request {
	r := Request{messages: msgs, history: historyIndexes(msgs), maxNew: maxNew, firstCurrentIndex: firstCurrentIndex(msgs)}
	r.chains = make([]string, 0, len(r.history))
	chain := ""
	for _, i := range r.history {
		chain = cmp.Or(msgs[i].Chain, ChainHash(chain, msgs[i].Digest))
		r.chains = append(r.chains, chain)
	}
	return r
}

// Chains returns, for each message except system messages, the chain hash of the path to the message. If the
// request exceeds maxNew, it returns only the last maxNew chains.
func (r Request) Chains() []string { return r.lastNewChains(r.chains) }

// AnswerChains returns the chains of the request's last answer and later messages, or nil without an answer.
// A conversation with such a chain takes precedence, so that other chains need no look-up.
func (r Request) AnswerChains() []string {
	for i := len(r.history) - 1; i >= 0; i-- {
		if r.messageAt(i).Role == memory.RoleAssistant {
			return r.lastNewChains(r.chains[i:])
		}
	}
	return nil
}

func (r Request) lastNewChains(chains []string) []string {
	if r.maxNew > 0 && len(chains) > r.maxNew {
		return chains[len(chains)-r.maxNew:]
	}
	return chains
}

// OnlyMessageIndex returns the index of the request's only message besides system messages, or -1 if it has more
// or none. The text of a single message does not show whether it was sent before.
func (r Request) OnlyMessageIndex() int {
	if len(r.history) != 1 {
		return -1
	}
	return r.history[0]
}

// messageAt returns message i of the request's history, which has no system messages.
func (r Request) messageAt(i int) *chatapi.Message { return &r.messages[r.history[i]] }

// areCurrent reports whether the messages from firstIndex on are current: the last user message and the tool
// steps after it.
func (r Request) areCurrent(firstIndex int) bool {
	return firstIndex < len(r.history) && r.history[firstIndex] >= r.firstCurrentIndex
}

// firstCurrentIndex returns the index of the last user message, with which the current messages begin, or len(msgs)
// if there is none, because a system message follows the answer to it. (The client opencode, for example, asks its model to
// continue after a summary.)
func firstCurrentIndex(msgs []chatapi.Message) int {
	last := chatapi.LastUser(msgs)
	for i := last + 1; i > 0 && i+1 < len(msgs); i++ {
		if msgs[i].Role == memory.RoleAssistant && !msgs[i].ToolCalls && msgs[i+1].Role == memory.RoleSystem {
			return len(msgs)
		}
	}
	return last
}

// firstUnansweredIndex returns the index of the first user message after the last answer. Some clients split one
// message into several messages.
func (r Request) firstUnansweredIndex() int {
	from := r.firstCurrentIndex
	for from > 0 && from < len(r.messages) && (r.messages[from-1].Role == memory.RoleUser || r.messages[from-1].Role == memory.RoleSystem) {
		from--
	}
	return from
}

// historyIndexes returns the indexes of the messages that belong to the conversation.
func historyIndexes(msgs []chatapi.Message) []int {
	out := make([]int, 0, len(msgs))
	for i := range msgs {
		if msgs[i].Role != memory.RoleSystem {
			out = append(out, i)
		}
	}
	return out
}
