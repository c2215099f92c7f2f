// Package exchange handles one exchange of a chat. Each stage takes a value and returns the next: a
// request ([Incoming]) is placed in its conversation ([Placement]), gets a block
// ([Exchange.Prepare]), its question is stored, and its answer behind that ([Place]).
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

// Exchanges opens exchanges of chats: request, memory, answer, record.
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
	ChatID string         // the conversation's id in a front end, which always resends all of it
	After  string         // id of the turn that the request follows, if the client names it
	From   int            // index of the first message after it
	Answer string         // the client's id for the answer, which a later request may name; "": none
	Once   string         // the client's key for the request: a repeated key is a retry; "": none
	Again  bool           // the client marks the request as a retry
	Own    bool           // a chat of Loci's own, whatever its id; rules and documents are separate from the block
	Named  bool           // whether a later request may name the answer by its id: see PlaceOf
	Called string         // the owner's display name at the client; "": unknown
	Zone   *time.Location // the client's; nil: unknown
	Key    string         // the client's own, for the upstream; "": none, or not to be stored
	Note   string         // for the trace, if the prompt has memory; "": none
	Keep   bool           // restore the blocks of the conversation's earlier requests
	Part   int            // where in the last user message a new block goes, as in [chatapi.Block]
}

// Exchange is one request and its answer. Its methods never fail the chat: errors are counted,
// logged and put into the trace.
type Exchange struct {
	e      *Exchanges
	In     Incoming
	mode   mode
	wishes learn.MemoryRequests // of the last user message
	marks  map[int]string       // of messages that are stored cut, by index: see [core.Core.CutMessages]
	begun  uint64               // epoch for [core.BlockCache.Put]
	placed func() Placement

	Prepared  retrieve.Prepared
	sentBlock string // the [GivenBlock] sent with the request; "": none to store

	question func(context.Context) (question, error) // waits for RecordQuestion; nil before
	answered chan struct{}
	once     sync.Once // closes answered
}

// client returns the client data of a request; missing fields are zero.
func (in Incoming) client() core.ClientSeen {
	c := core.ClientSeen{Zone: in.Zone, Key: in.Key}
	if in.Chat != nil && in.Chat.Model != memory.RecallModel {
		c.Model = in.Chat.Model
	}
	return c
}

// Open starts to find, in the background, the request's conversation and its new messages, while
// [Exchange.Prepare] searches. RecordQuestion places a request that reads no memory.
func (e *Exchanges) Open(ctx context.Context, in Incoming) *Exchange {
	e.Clients.See(in.Owner, in.client())
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	pause := e.Paused(ctx, in.Owner)
	x := &Exchange{
		e: e, In: in, mode: e.modeOf(in).under(pause), marks: e.CutMessages(in.Chat), begun: e.Blocks.Now(), answered: make(chan struct{}),
		placed: func() Placement { return Placement{} },
	}
	if err := x.markForeign(ctx); err != nil {
		e.Log.Warn("text that was passed on, or recurs, cannot be recognized", "user", in.Owner.Name(), "err", err)
	}
	if last := in.Chat.LastUser(); last >= 0 {
		m := in.Chat.Messages[last]
		x.wishes = learn.MemoryRequestsIn(memory.Turn{Role: memory.RoleUser, Content: m.Text, Foreign: m.Foreign})
	}
	if pause == core.PauseUnknown {
		e.Log.Warn("memory is not read: the store could not say in time whether it is paused", "user", in.Owner.Name())
	}
	if !x.mode.reads { // nothing waits for it before the answer
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

// Placed waits until the request is placed or placing has failed.
func (x *Exchange) Placed() Placement { return x.placed() }

// stores reports whether the exchange stores turns and a trace, redacted or not.
func (x *Exchange) stores() bool { return x.mode.keeps && !x.e.SeenClosed(x.In.Owner) }

// Hides reports whether its turns are redacted.
func (x *Exchange) Hides() bool { return !x.mode.writes }

// resultsAlone reports whether the request holds no user message: a server that keeps the
// conversation has them.
func (x *Exchange) resultsAlone() bool { return x.In.Chat.LastUser() < 0 }

// named returns the id of the conversation that the request names; "" if its messages must identify
// it.
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
