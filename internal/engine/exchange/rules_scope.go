package exchange

import (
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// named returns the conversation that a chat names, "" if it is to be found by its
// messages.
func (x *Exchange) named() string {
	switch {
	case x.In.Extras.ID != "":
		return x.In.Extras.ID
	case x.In.ChatID != "":
		return x.In.ChatID
	case !x.e.Retrieve.Apart():
		return x.unknown()
	}
	return retrieve.UnnamedConversation
}

// scope is what a chat may be shown.
func (x *Exchange) scope() memory.Scope {
	s := memory.Scope{Owner: x.In.Owner, Project: x.In.Extras.Project}
	if x.e.Retrieve.Apart() {
		s.Conversation = x.named()
	}
	return s
}
