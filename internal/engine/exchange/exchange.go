// Package exchange handles one exchange of a chat: it finds the conversation of a request ([Incoming],
// [Placement]), adds a block ([Exchange.Prepare]), and stores the question and then the answer, after
// which the chat can continue ([ContinuationPoint]).
package exchange

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Exchanges opens exchanges of chats.
type Exchanges struct {
	*core.Core
	Retrieve *retrieve.Retriever
	Traces   *traces.Keeper
	Lessons  *lessons.Learner
	Curate   *curate.Curator
}

// Incoming is a chat request as an API received it.
type Incoming struct {
	Owner  memory.Owner
	Chat   *chatapi.Chat
	Extras chatapi.Extras
	ChatID string         // id of the conversation in a front end that resends the whole conversation
	After  string         // id of the turn before the request; "": the client does not name it
	From   int            // index of the first message after that turn
	Answer string         // the client's id for the answer, for later requests; "": none
	Once   string         // the client's idempotency key, the same for a retry; "": none
	Again  bool           // the client marks the request as a retry
	Own    bool           // one of Loci's own chats, with rules and documents outside the block
	Named  bool           // a later request may refer to the answer by its id
	Called string         // the owner's display name in the client; "": unknown
	Zone   *time.Location // the client's time zone; nil: unknown
	Key    string         // the client's API key for the upstream; "": none, or not to be stored
	Note   string         // note for the trace of a prompt with memory; "": none
	Keep   bool           // restore the blocks of the conversation's earlier requests
	Part   int            // position of a new block in the last user message, as in [chatapi.Block]
}

// Exchange is one request and its answer. Errors of its methods never fail the chat: they are
// counted, logged and added to the trace.
type Exchange struct {
	e          *Exchanges
	In         Incoming
	mode       mode
	wishes     learn.MemoryRequests // memory requests in the last user message, such as forget requests
	marks      map[int]string       // end marks of shortened messages, by index
	blockEpoch uint64               // epoch for [core.BlockCache.Put]
	placed     func() Placement

	Prepared  retrieve.Prepared
	sentBlock string // encoded [BlockRecord] of the block in the request; "": none to store

	question func(context.Context) (question, error) // waits until the question is stored
	answered chan struct{}
	once     sync.Once // closes answerStarted
}

// clientInfo returns the request's data about its client; unknown fields are zero.
func (in Incoming) client() core.ClientSeen {
	c := core.ClientSeen{Zone: in.Zone, Key: in.Key}
	if in.Chat != nil && in.Chat.Model != memory.RecallModel {
		c.Model = in.Chat.Model
	}
	return c
}

// Open starts to place the request in the background: it looks for the conversation and the new
// messages while [Exchange.Prepare] searches. If the request reads no memory, RecordQuestion places
// it instead.
func (e *Exchanges) Open(ctx context.Context, in Incoming) *Exchange {
	e.Clients.See(in.Owner, in.client())
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	pause := e.Paused(ctx, in.Owner)
	x := &Exchange{
		e: e, In: in, mode: e.modeOf(in).restrictedBy(pause), marks: e.CutMessages(in.Chat), blockEpoch: e.Blocks.Now(), answered: make(chan struct{}),
		placed: func() Placement { return Placement{} },
	}
	if err := x.markForeign(ctx); err != nil {
		e.Log.Warn("cannot recognize text that Loci relayed or that recurs", "user", in.Owner.Name(), "err", err)
	}
	if last := in.Chat.LastUser(); last >= 0 {
		m := in.Chat.Messages[last]
		x.wishes = learn.MemoryRequestsIn(memory.Turn{Role: memory.RoleUser, Content: m.Text, Foreign: m.Foreign})
	}
	if pause == core.PauseUnknown {
		e.Log.Warn("memory is not read: the store did not report in time whether memory is paused", "user", in.Owner.Name())
	}
	if !x.mode.reads { // RecordQuestion places the request
		cancel()
		return x
	}
	placed := core.Async(e.Core, func() (Placement, error) {
		defer cancel()
		defer e.Metrics.StageEnded("place", time.Now())
		p, err := x.place(ctx, client)
		p.Ended = e.Now()
		return p, err
	})
	x.placed = func() Placement {
		p, err := placed(context.Background())
		if err != nil {
			return Placement{Err: err}
		}
		return p
	}
	return x
}

// Placement waits until the request was placed, and returns its placement or the error.
func (x *Exchange) Placed() Placement { return x.placed() }

// storesTurns reports whether the exchange stores turns, with or without text, and a trace.
func (x *Exchange) stores() bool { return x.mode.keeps && !x.e.SeenClosed(x.In.Owner) }

// RedactsTurns reports whether the turns of the exchange are stored without text.
func (x *Exchange) Redacts() bool { return !x.mode.writes }

// hasOnlyToolResults reports whether the request contains tool results but no user message.
func (x *Exchange) resultsAlone() bool { return x.In.Chat.LastUser() < 0 }

// namedConversation returns the id of the conversation that the request names, or "" if the conversation
// must be found by the messages.
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
