// Package exchange follows one exchange of a chat: which conversation it continues, what memory
// it gets, and what is recorded of question and answer.
package exchange

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Exchanges opens exchanges of chats: request, memory, answer, record.
type Exchanges struct {
	*core.Core
	Retrieve *retrieve.Retriever
	Traces   *traces.Keeper
	Lessons  *lessons.Learner
	Curate   *curate.Curator
}

// SetFor returns the fenced documents that are attached to the conversation, and its rules.
// Both are "" where they could not be read. Call it before anything is recorded.
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

// named returns the id of the conversation that the request names; "" if it has to be found
// by its messages.
func (x *Exchange) named() string {
	switch {
	case x.In.Extras.ID != "":
		return x.In.Extras.ID
	case x.In.ChatID != "":
		return x.In.ChatID
	case x.e.Retrieve.Apart():
		return retrieve.UnnamedConversation
	}
	return ""
}

// scope returns what a chat may be shown.
func (x *Exchange) scope() memory.Scope {
	s := memory.Scope{Owner: x.In.Owner, Project: x.In.Extras.Project}
	if x.e.Retrieve.Apart() {
		s.Conversation = x.named()
	}
	return s
}

// heed reads again, right before a write, what the user has paused: Open has little time to
// ask, and memory may have been paused since. What was paused when the exchange began stays
// paused for it. Messages from before a pause of learning are learned.
func (x *Exchange) heed(ctx context.Context) error {
	pause, err := x.e.AskPaused(ctx, x.In.Owner)
	if err != nil {
		return err
	}
	if x.unsure {
		x.learns = pause == core.PauseNone
	}
	x.Writes = x.Writes && pause != core.PauseMemory
	x.unsure = false
	return nil
}

// nameOwner stores the display name that the client gives the owner.
func (x *Exchange) nameOwner(ctx context.Context) {
	if x.Hides() {
		return
	}
	if err := x.e.SetDisplayName(ctx, x.In.Owner, x.In.Called); err != nil {
		x.e.Log.Warn("the user's name was not kept", "user", x.In.Owner.Name(), "err", err)
	}
}

// Outlook says what will be kept and learned of the request, so that the built-in model does
// not promise more. Call it before the question is recorded.
func (x *Exchange) Outlook(ctx context.Context) responder.Outlook {
	f, err := x.Foresee(ctx)
	if err != nil {
		x.e.Log.Warn("the answer cannot tell what will be forgotten", "err", err)
	}
	o := responder.Outlook{Forget: f.Forget, Found: f.Found, Unsure: err != nil}
	switch {
	case f.Paused == core.PauseMemory:
		o.Unkept = "Memory is paused"
	case !f.Kept:
		o.Unkept = "This chat leaves nothing in memory"
	case f.Granted && f.Forget != "": // that is done whether anything is learned or not
	case f.Paused == core.PauseLearning:
		o.Unlearned = "Learning is paused"
	case !f.Learned:
		o.Unlearned = "Learning is off"
	}
	return o
}
