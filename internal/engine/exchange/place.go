package exchange

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

// Placement is a request's position in its conversation. The zero Placement has no conversation.
type Placement struct {
	Alignment    thread.Alignment
	Err          error                     // why placing failed; nil: it succeeded
	EndedAt      time.Time                 // end time of placing; zero: it was not tried
	DeletedState *memory.ConversationState // state of the deleted conversation that the request continues; nil: none

	conversation memory.Conversation
	contexts     []memory.Context // contexts attached to the conversation
	rules        string           // the user's rules for the conversation
	request      thread.Request   // the request's messages, to align
	soleTurnID   string           // turn id of a single message that was sent without history; "": the request has history
	askedTurn    memory.Turn      // the last user message as stored, or only its chain hash: see askedTurn
	restored     restoredBlocks   // restored blocks of earlier requests
	restoreErr   error            // why restoring the blocks failed; nil: it did not
}

// IsPlaced reports whether placing succeeded.
func (p *Placement) IsPlaced() bool { return p.Err == nil && p.conversation.ID != "" }

// ConversationID returns the id of the conversation, or "" before the request is placed.
func (p *Placement) ConversationID() string { return p.conversation.ID }

// ContinuationPoint is a turn after which a conversation continues. The zero value means no turn.
type ContinuationPoint struct {
	Conversation string
	TurnID       string // id of the turn
	ChainHash    string // chain hash of the turn if it is an answer, for [chatapi.Message]
}

// PointAfterAnswer returns the point after the answer to which the upstream gave this id. The point is zero
// if the owner has no such answer, the answer was empty, or the store did not reply in time.
func (e *Exchanges) PointAfterAnswer(ctx context.Context, owner memory.Owner, upstreamID string) ContinuationPoint {
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	defer cancel()
	memories, err := e.Store.Get(ctx, owner, answerID(owner, upstreamID))
	if err != nil {
		e.Log.Warn("could not look up the earlier answer that a request continues", "user", owner.Name(), "err", err)
	}
	if len(memories) == 0 || memories[0].Turn == nil {
		return ContinuationPoint{}
	}
	return pointAfter(*memories[0].Turn)
}

func pointAfter(t memory.Turn) ContinuationPoint {
	return ContinuationPoint{Conversation: t.Conversation, TurnID: t.ID, ChainHash: t.Chain}
}

// PointsAfterItems returns, by item id of the Responses API, the points after the answers that contain these
// items. It omits items of answers that are not stored, or that the store did not return in time.
func (e *Exchanges) PointsAfterItems(ctx context.Context, owner memory.Owner, itemIDs []string) map[string]ContinuationPoint {
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	defer cancel()
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		Refs: itemIDs, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired},
	})
	if err != nil {
		e.Log.Warn("could not look up the earlier answers that a request names", "user", owner.Name(), "err", err)
	}
	slices.SortStableFunc(turns, func(a, b memory.Turn) int { return a.CreatedAt.Compare(b.CreatedAt) })
	points := map[string]ContinuationPoint{}
	for _, t := range turns {
		if t.Role == memory.RoleAssistant {
			points[t.Ref] = pointAfter(t) // if an upstream reuses an id, the later answer wins
		}
	}
	return points
}

// answerID returns the turn id derived from an upstream's answer id, which is the same on every server.
func answerID(owner memory.Owner, upstreamID string) string {
	return core.DerivedID(owner, "answer", upstreamID)
}

// unusedAnswerID returns the turn id for an answer that a later request may refer to. It returns "" if
// the id is already used, since upstreams may reuse ids and no answer may be lost.
func (x *Exchange) unusedAnswerID(ctx context.Context, upstreamID string) (string, error) {
	if !x.Incoming.CanNameAnswer && x.Incoming.AnswerID == "" || upstreamID == "" {
		return "", nil
	}
	id := answerID(x.Incoming.Owner, upstreamID)
	stored, err := x.exchanges.Store.Get(ctx, x.Incoming.Owner, id)
	if err != nil || len(stored) > 0 {
		return "", err
	}
	return id, nil
}

// maxShortlist bounds the number of conversations with the same beginning that are read.
const maxShortlist = 8

// placeRequest finds the conversation of the request and aligns the request with it.
func (x *Exchange) placeRequest(ctx, clientCtx context.Context) (p Placement, err error) {
	p.request = thread.NewRequest(x.Incoming.Chat.Messages, core.MaxMessages)
	p.request.DeclaredRetry, p.request.ClientStopped = x.Incoming.IsRetry, clientCtx.Err() != nil
	var id string
	id, p.soleTurnID = x.identifyMessage(x.namedConversation(), p.request)
	stored, err := x.findConversation(ctx, id, p.request)
	if err != nil {
		return p, err
	}
	if p.contexts, p.rules, err = x.attachments(ctx, stored.Conversation); err != nil {
		return p, err
	}
	now := x.exchanges.Time()
	p.conversation = memory.Conversation{
		ID: cmp.Or(id, stored.Conversation.ID, core.NewID()), Owner: x.Incoming.Owner, CreatedAt: now, UpdatedAt: now,
		Project: cmp.Or(x.Incoming.Extras.Project, stored.Conversation.Project),
	}
	if len(stored.Turns) == 0 {
		p.conversation.Title = makeTitle(x.Incoming.Chat, x.exchanges.Opts.Learn.RedactPersonal)
	}
	x.align(&p, stored)
	p.askedTurn = askedTurn(p.Alignment, stored.Turns, x.Incoming.Chat.LastUser())
	if p.restored = x.exchanges.noEarlierBlocks(); x.Incoming.RestoreBlocks && p.DeletedState == nil {
		p.restoreErr = x.restoreBlocks(ctx, &p, earlierBlocks(x.Incoming.Chat, p.Alignment, stored.Turns))
	}
	return p, nil
}

// maxTitleLetters bounds the letters of a title. titleBytes bounds the bytes of the first message that a
// title is made from.
const (
	maxTitleLetters = 80
	titleBytes      = 1 << 10
)

func makeTitle(c *chatapi.Chat, redactPersonal bool) string {
	for _, m := range c.Messages {
		if m.Role == memory.RoleUser {
			letters := []rune(strings.Join(strings.Fields(learn.Redact(core.Clip(m.Text, titleBytes), redactPersonal)), " "))
			return string(letters[:min(len(letters), maxTitleLetters)])
		}
	}
	return ""
}

// identifyMessage returns the turn id of a message without history: derived from the client's key, or a new
// id. If id is "", it also derives the conversation's id from the key or from an unknown answer id.
func (x *Exchange) identifyMessage(id string, r thread.Request) (conversation, soleTurnID string) {
	key, hasNoHistory := x.Incoming.Chat.PreviousAnswerID, r.OnlyMessageIndex() >= 0 && x.Incoming.AfterTurnID == ""
	if hasNoHistory {
		key = cmp.Or(x.Incoming.IdempotencyKey, x.Incoming.AnswerID, key)
	}
	if id == "" && key != "" {
		id = core.DerivedID(x.Incoming.Owner, "unknown", key)
	}
	if hasNoHistory {
		soleTurnID = core.DerivedID(x.Incoming.Owner, id, "message", cmp.Or(key, core.NewID()), r.Chains()[0])
	}
	return id, soleTurnID
}

// align aligns the request with the stored conversation.
func (x *Exchange) align(p *Placement, stored thread.Candidate) {
	p.DeletedState = deletedState(stored.Conversation)
	switch {
	case x.Incoming.AfterTurnID != "":
		p.Alignment = thread.AlignAfter(stored.Turns, p.request, x.Incoming.AfterTurnID, x.Incoming.FirstMessageIndex)
	case p.soleTurnID != "":
		ids := make([]string, len(x.Incoming.Chat.Messages))
		ids[p.request.OnlyMessageIndex()] = p.soleTurnID
		p.Alignment = thread.AlignStored(stored.Turns, p.request, ids)
	default:
		p.Alignment = thread.Align(stored.Turns, p.request)
	}
}

// findConversation reads the conversation with an id or, for "", the conversation that the request
// continues. A new conversation is empty.
func (x *Exchange) findConversation(ctx context.Context, id string, r thread.Request) (thread.Candidate, error) {
	if id != "" {
		return x.exchanges.readConversation(ctx, x.Incoming.Owner, id)
	}
	for _, chains := range [][]string{r.AnswerChains(), r.Chains()} { // answers usually suffice
		candidates, err := x.exchanges.conversationsWithChains(ctx, x.Incoming.Owner, chains)
		if err != nil {
			return thread.Candidate{}, err
		}
		if i := thread.ChooseConversation(candidates, r, x.exchanges.Time()); i >= 0 {
			return candidates[i], nil
		}
	}
	return thread.Candidate{}, nil
}

// readConversation reads a conversation and its last turns. It is empty for an unknown id.
func (e *Exchanges) readConversation(ctx context.Context, owner memory.Owner, conversationID string) (stored thread.Candidate, err error) {
	if stored.Turns, err = e.readBranches(ctx, owner, conversationID); err != nil {
		return stored, err
	}
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{conversationID}})
	if err == nil && len(page.Conversations) > 0 {
		stored.Conversation = page.Conversations[0]
	}
	return stored, err
}

// attachments reads the documents and rules of a conversation. It returns nothing for a deleted
// conversation and for Loci's own chats, which read them elsewhere.
func (x *Exchange) attachments(ctx context.Context, c memory.Conversation) (contexts []memory.Context, rules string, err error) {
	if x.Incoming.IsOwnChat || c.Status == memory.Retired {
		return nil, "", nil
	}
	contexts, err = x.exchanges.ContextsByID(ctx, x.Incoming.Owner, c.Contexts)
	return contexts, c.Rules, err
}

// deletedState returns the state of a deleted conversation, or nil for a conversation that is not deleted.
func deletedState(c memory.Conversation) *memory.ConversationState {
	if c.Status != memory.Retired {
		return nil
	}
	state := c.State()
	return &state
}

// reopenDeleted returns the change that reopens a deleted conversation, without its earlier messages, or nil
// for a nil state.
func reopenDeleted(deleted *memory.ConversationState) []memory.Change {
	if deleted == nil {
		return nil
	}
	state := *deleted
	state.Status = memory.Active
	return []memory.Change{{Action: memory.ActionRestore, After: memory.State{Conversation: &state}, Reason: "the chat goes on", Author: core.ByBranchSwitch}}
}

// askedTurn returns the turn of a user message. For a new message it has only the chain hash. Without a
// user message it is the user's last stored turn.
func askedTurn(alignment thread.Alignment, turns []memory.Turn, messageIndex int) memory.Turn {
	id := alignment.ParentID
	if messageIndex >= 0 {
		id = alignment.TurnIDs[messageIndex]
	}
	for _, p := range alignment.NewTurns {
		if p.MessageIndex == messageIndex {
			return memory.Turn{Chain: p.Chain}
		}
	}
	for range turns {
		i := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == id })
		if i < 0 {
			break
		}
		if turns[i].Role == memory.RoleUser {
			return turns[i]
		}
		id = turns[i].Parent
	}
	return memory.Turn{}
}

// conversationsWithChains reads at most maxShortlist conversations with one of these chain hashes.
func (e *Exchanges) conversationsWithChains(ctx context.Context, owner memory.Owner, chainHashes []string) ([]thread.Candidate, error) {
	if len(chainHashes) == 0 {
		return nil, nil
	}
	matches, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Chains: chainHashes})
	if err != nil || len(matches) == 0 {
		return nil, err
	}
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: thread.ShortlistConversations(matches, maxShortlist)})
	if err != nil {
		return nil, err
	}
	candidates := make([]thread.Candidate, len(page.Conversations))
	for i, c := range page.Conversations {
		candidates[i].Conversation = c
		if candidates[i].Turns, err = e.readBranches(ctx, owner, c.ID); err != nil {
			return nil, err
		}
	}
	return candidates, nil
}

// readBranches reads the last turns of all branches of a conversation.
func (e *Exchanges) readBranches(ctx context.Context, owner memory.Owner, conversationID string) ([]memory.Turn, error) {
	return e.Store.Turns(ctx, owner, memory.TurnQuery{
		Conversation: conversationID, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}, Last: core.MaxMessages,
	})
}
