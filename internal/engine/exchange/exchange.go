// Package exchange follows one exchange of a chat. Each stage takes a value and returns the next:
// a request ([Incoming]) is placed in its conversation ([Placement]), gets a block
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
	ChatID string         // the conversation as a front end names it, which always resends all of it
	After  string         // id of the turn of the conversation that the request follows, where the client says so
	From   int            // the first message that follows it
	Answer string         // the client's id for the answer, by which a later request may name it; "": it has none
	Once   string         // the client's key for the request: the same again is a retry; "": it has none
	Again  bool           // the client says that it sent the request before
	Own    bool           // Loci keeps the chat itself, whatever its id looks like, and tells rules and documents apart from the block
	Named  bool           // whether a later request may name the answer by its id: see PlaceOf
	Called string         // what the client calls the owner, for people to read; "": it does not say
	Zone   *time.Location // the client's; nil: it does not say
	Key    string         // the client's own, for the upstream; "": none, or not to be kept
	Note   string         // for the trace, where memory is in the prompt; "": none
	Keep   bool           // whether blocks that earlier requests of the conversation had are put back
	Part   int            // where in the last user message a new block goes, as in [chatapi.Block]
}

// Exchange is one request and its answer on their way into memory. Its methods never fail
// the chat: errors are counted, logged and named in the trace.
type Exchange struct {
	e      *Exchanges
	In     Incoming
	mode   mode
	wishes learn.Wishes   // of the last user message
	marks  map[int]string // of the messages that are stored cut, by index: see [core.Core.CutMessages]
	begun  uint64         // epoch for [core.BlockCache.Put]
	placed func() Placement

	Prepared retrieve.Prepared
	given    string // the [GivenBlock] that the request was sent with; "": none to keep

	question func(context.Context) (question, error) // waits for what RecordQuestion stored; nil before
	answered chan struct{}
	once     sync.Once // closes answered
}

// client returns what a request says of the client: the zero value for what it does not say.
func (in Incoming) client() core.ClientSeen {
	c := core.ClientSeen{Zone: in.Zone, Key: in.Key}
	if in.Chat != nil && in.Chat.Model != memory.RecallModel {
		c.Model = in.Chat.Model
	}
	return c
}

// Open begins to find, in the background, the conversation that a request continues, and
// which of its messages are new; meanwhile [Exchange.Prepare] can search. A request that
// reads no memory is placed by RecordQuestion instead.
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
		e.Log.Warn("words that were passed on, or recur, are not known", "user", in.Owner.Name(), "err", err)
	}
	if last := in.Chat.LastUser(); last >= 0 {
		m := in.Chat.Messages[last]
		x.wishes = learn.WishesIn(memory.Turn{Role: memory.RoleUser, Content: m.Text, Foreign: m.Foreign})
	}
	if pause == core.PauseUnknown {
		e.Log.Warn("memory is not read: the store could not say in time whether it is paused", "user", in.Owner.Name())
	}
	if !x.mode.reads { // nothing waits for it before the answer does
		cancel()
		return x
	}
	placed := core.Beside(e.Core, func() (Placement, error) {
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

// Placed waits until it is known where the request belongs, or that this is not to be.
func (x *Exchange) Placed() Placement { return x.placed() }

// stores reports whether the exchange leaves turns and a trace, redacted or not.
func (x *Exchange) stores() bool { return x.mode.keeps && !x.e.SeenClosed(x.In.Owner) }

// Hides reports whether its turns are redacted.
func (x *Exchange) Hides() bool { return !x.mode.writes }

// resultsAlone reports whether the request holds no words of the user: they went before,
// to a server that keeps them.
func (x *Exchange) resultsAlone() bool { return x.In.Chat.LastUser() < 0 }

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
