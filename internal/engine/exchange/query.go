package exchange

import (
	"github.com/loci-memory/loci/internal/recall"
)

// SetFor returns the documents that are attached to the conversation, fenced, and its
// rules: what every chat that goes on with memory is told. They are left out where they
// could not be read. It is asked before anything is recorded.
func (x *Exchange) SetFor() (contexts, rules string) {
	if !x.reads {
		return "", ""
	}
	x.Settle()
	if !x.Placed {
		return "", ""
	}
	contexts = recall.WithContexts("", x.Contexts, x.e.Opts.Recall.Contexts)
	x.Pin(WithRules(contexts, x.Rules)) // an answer that repeats it is not learned from
	return contexts, x.Rules
}
