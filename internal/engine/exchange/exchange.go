// Package exchange handles exchanges of chats, each a request and its answer: it finds the conversation of a
// request ([Incoming], [Placement]), adds a block ([Exchange.Prepare]), and stores the question and then the
// answer, after which the chat can continue ([ContinuationPoint]).
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
	Owner             memory.Owner
	Chat              *chatapi.Chat
	Extras            chatapi.Extras
	ChatID            string         // id of the conversation in a front end that resends the whole conversation
	AfterTurnID       string         // id of the turn before the request's new messages; "": the client does not name it
	FirstMessageIndex int            // index in Chat of the first message after the turn AfterTurnID
	AnswerID          string         // the client's id for the answer, for later requests; "": none
	IdempotencyKey    string         // the client's idempotency key, the same for a retry; "": none
	IsRetry           bool           // the client marks the request as a retry
	IsOwnChat         bool           // the chat is one of Loci's own (package chats), which adds rules and documents outside the block
	CanNameAnswer     bool           // a later request may refer to the answer by its id
	DisplayName       string         // the owner's display name in the client; "": unknown
	TimeZone          *time.Location // the client's time zone; nil: unknown
	UpstreamKey       string         // the client's API key for the upstream; "": none, or not to be stored
	TraceNote         string         // note for the trace of a prompt with memory; "": none
	RestoreBlocks     bool           // restore the blocks of the conversation's earlier requests
	BlockPart         int            // position of a new block in the last user message, as in [chatapi.Block]
}

// Exchange is one request and its answer. Errors of its methods never fail the chat: they are
// counted, logged and added to the trace.
type Exchange struct {
	exchanges      *Exchanges
	Incoming       Incoming
	mode           memoryMode
	memoryRequests learn.MemoryRequests // memory requests in the last user message, such as forget requests
	cutMarks       map[int]string       // texts at the end of shortened messages, by message index
	blockEpoch     uint64               // epoch for [core.BlockCache.Put]
	awaitPlacement func() Placement     // waits until the request is placed

	PromptMemory retrieve.PromptMemory
	sentBlock    string // encoded [BlockRecord] of the block in the request; "": none to store

	awaitQuestion func(context.Context) (storedQuestion, error) // waits until the question is stored
	answerStarted chan struct{}                                 // closed once the answer's first byte was sent
	closeOnce     sync.Once                                     // closes answerStarted
}

// clientInfo returns the request's data about its client; unknown fields are zero.
func (in Incoming) clientInfo() core.ClientInfo {
	info := core.ClientInfo{TimeZone: in.TimeZone, APIKey: in.UpstreamKey}
	if in.Chat != nil && in.Chat.Model != memory.RecallModel {
		info.Model = in.Chat.Model
	}
	return info
}

// Open begins an exchange. In the background it places the request (finds its conversation and new messages)
// while [Exchange.Prepare] searches. If the request reads no memory, RecordQuestion places it.
func (e *Exchanges) Open(ctx context.Context, in Incoming) *Exchange {
	e.LastClients.Record(in.Owner, in.clientInfo())
	clientCtx := ctx
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	pause := e.CurrentPause(ctx, in.Owner)
	x := &Exchange{
		exchanges: e, Incoming: in, mode: e.modeOf(in).restrictedBy(pause), cutMarks: e.CutMessages(in.Chat), blockEpoch: e.Blocks.Epoch(), answerStarted: make(chan struct{}),
		awaitPlacement: func() Placement { return Placement{} },
	}
	if err := x.markForeignText(ctx); err != nil {
		e.Log.Warn("cannot recognize text that Loci relayed or that recurs", "user", in.Owner.Name(), "err", err)
	}
	if last := in.Chat.LastUser(); last >= 0 {
		m := in.Chat.Messages[last]
		x.memoryRequests = learn.MemoryRequestsIn(memory.Turn{Role: memory.RoleUser, Content: m.Text, Foreign: m.Foreign})
	}
	if pause == core.PauseUnknown {
		e.Log.Warn("memory is not read: the store did not report in time whether memory is paused", "user", in.Owner.Name())
	}
	if !x.mode.readsMemory { // RecordQuestion places the request
		cancel()
		return x
	}
	placed := core.Async(e.Core, func() (Placement, error) {
		defer cancel()
		defer e.Metrics.ObserveStage("place", time.Now())
		p, err := x.placeRequest(ctx, clientCtx)
		p.EndedAt = e.Now()
		return p, err
	})
	x.awaitPlacement = func() Placement {
		p, err := placed(context.Background())
		if err != nil {
			return Placement{Err: err}
		}
		return p
	}
	return x
}

// Placement waits until the request was placed, and returns its placement or the error.
func (x *Exchange) Placement() Placement { return x.awaitPlacement() }

// storesTurns reports whether the exchange stores turns, with or without text, and a trace.
func (x *Exchange) storesTurns() bool {
	return x.mode.storesTurns && !x.exchanges.IsKnownClosed(x.Incoming.Owner)
}

// RedactsTurns reports whether the turns of the exchange are stored without text.
func (x *Exchange) RedactsTurns() bool { return !x.mode.storesText }

// hasOnlyToolResults reports whether the request contains tool results but no user message.
func (x *Exchange) hasOnlyToolResults() bool { return x.Incoming.Chat.LastUser() < 0 }

// namedConversation returns the id of the conversation that the request names, or "" if the conversation
// must be found by the messages.
func (x *Exchange) namedConversation() string {
	switch {
	case x.Incoming.Extras.ID != "":
		return x.Incoming.Extras.ID
	case x.Incoming.ChatID != "":
		return x.Incoming.ChatID
	case x.exchanges.Retrieve.IsolatesConversations():
		return retrieve.DefaultConversation
	}
	return ""
}
