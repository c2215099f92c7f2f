// Package exchange handles one exchange of a chat: a request ([Incoming]) is placed in its
// conversation ([Placement]) and gets a block ([Exchange.Prepare]); its question is stored, and its
// answer after that ([Place]).
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

// Incoming is a chat request in the form in which an API received it.
type Incoming struct {
	Owner  memory.Owner
	Chat   *chatapi.Chat
	Extras chatapi.Extras
	ChatID string         // id of the conversation in a front end that resends the whole conversation
	After  string         // id of the turn that precedes the request, if the client names it
	From   int            // index of the first message after that turn
	Answer string         // the client's id for the answer, which a later request may name; "": none
	Once   string         // the client's idempotency key: a repeated key is a retry; "": none
	Again  bool           // the client marks the request as a retry
	Own    bool           // one of Loci's own chats; rules and documents are then separate from the block
	Named  bool           // whether a later request may name the answer by its id: see PlaceOf
	Called string         // the owner's display name in the client; "": unknown
	Zone   *time.Location // the client's time zone; nil: unknown
	Key    string         // the client's API key for the upstream; "": none, or must not be stored
	Note   string         // added to the trace if the prompt has memory; "": none
	Keep   bool           // restore the blocks of earlier requests of the conversation
	Part   int            // where a new block is inserted in the last user message, as in [chatapi.Block]
}

// Exchange is one request and its answer. Errors of its methods never fail the chat: they are
// counted, logged and added to the trace.
type Exchange struct {
	e          *Exchanges
	In         Incoming
	mode       mode
	wishes     learn.MemoryRequests // forget requests and the like in the last user message
	marks      map[int]string       // end marks of shortened messages, by index: see [core.Core.CutMessages]
	blockEpoch uint64               // epoch for [core.BlockCache.Put]
	placed     func() Placement

	Prepared  retrieve.Prepared
	sentBlock string // the [GivenBlock] sent with the request; "": none to store

	question func(context.Context) (question, error) // waits until RecordQuestion has stored the question; nil before
	answered chan struct{}
	once     sync.Once // closes answered
}

// client returns the data about the client in a request; unknown fields are zero.
func (in Incoming) client() core.ClientSeen {
	c := core.ClientSeen{Zone: in.Zone, Key: in.Key}
	if in.Chat != nil && in.Chat.Model != memory.RecallModel {
		c.Model = in.Chat.Model
	}
	return c
}

// Open starts to place the request in the background: it looks for the conversation and the new
// messages while [Exchange.Prepare] searches. A request that reads no memory is placed by
// RecordQuestion.
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
		e.Log.Warn("text that Loci passed on, or that recurs, cannot be recognized", "user", in.Owner.Name(), "err", err)
	}
	if last := in.Chat.LastUser(); last >= 0 {
		m := in.Chat.Messages[last]
		x.wishes = learn.MemoryRequestsIn(memory.Turn{Role: memory.RoleUser, Content: m.Text, Foreign: m.Foreign})
	}
	if pause == core.PauseUnknown {
		e.Log.Warn("memory is not read: the store did not report in time whether memory is paused", "user", in.Owner.Name())
	}
	if !x.mode.reads { // placing is not needed before the answer
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

// Placed waits until the request is placed or that has failed.
func (x *Exchange) Placed() Placement { return x.placed() }

// stores reports whether the exchange stores turns, redacted or not, and a trace.
func (x *Exchange) stores() bool { return x.mode.keeps && !x.e.SeenClosed(x.In.Owner) }

// Redacts reports whether turns of the exchange are redacted.
func (x *Exchange) Redacts() bool { return !x.mode.writes }

// resultsAlone reports whether the request contains only tool results and no user message.
func (x *Exchange) resultsAlone() bool { return x.In.Chat.LastUser() < 0 }

// named returns the id of the conversation that the request names, or "" if it must be found by its
// messages.
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
