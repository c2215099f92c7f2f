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
	At      thread.Alignment
	Err     error                    // why placing failed; nil: it succeeded
	Ended   time.Time                // end time of placing; zero: it was not tried
	Deleted *memory.ConversationMark // mark of the deleted conversation that the request continues; nil: none

	conversation memory.Conversation
	contexts     []memory.Context // contexts attached to the conversation
	rules        string           // the user's rules for the conversation
	request      thread.Request
	alone        string         // turn id of a message without history; "": the request has history
	asked        memory.Turn    // the last user message as stored, or only its chain hash: see askedTurn
	back         restoredBlocks // restored blocks of earlier requests
	unkept       error          // why restoring these blocks failed
}

// IsPlaced reports whether placing succeeded.
func (p *Placement) Found() bool { return p.Err == nil && p.conversation.ID != "" }

// ConversationID returns the id of the conversation, or "" before the request is placed.
func (p *Placement) Conversation() string { return p.conversation.ID }

// ContinuationPoint is a turn after which a conversation continues. The zero value means no turn.
type Place struct {
	Conversation string
	Turn         string // id of the turn
	Chain        string // chain hash of the turn if it is an answer, for [chatapi.Message]
}

// PointAfterAnswer returns the point after the answer with an upstream's id. It is zero if the owner has
// no such answer, the answer was empty, or the store did not reply in time.
func (e *Exchanges) PlaceOf(ctx context.Context, owner memory.Owner, answer string) Place {
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	defer cancel()
	found, err := e.Store.Get(ctx, owner, answerID(owner, answer))
	if err != nil {
		e.Log.Warn("could not look up the previous answer that a chat continues", "user", owner.Name(), "err", err)
	}
	if len(found) == 0 || found[0].Turn == nil {
		return Place{}
	}
	return placeBehind(*found[0].Turn)
}

func placeBehind(t memory.Turn) Place {
	return Place{Conversation: t.Conversation, Turn: t.ID, Chain: t.Chain}
}

// PointsAfterItems returns, by item, the points after the answers that contain these items. It omits
// answers that are not stored or that the store did not return in time.
func (e *Exchanges) PlacesOfItems(ctx context.Context, owner memory.Owner, items []string) map[string]Place {
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	defer cancel()
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		Refs: items, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired},
	})
	if err != nil {
		e.Log.Warn("could not look up the answers that a chat refers to", "user", owner.Name(), "err", err)
	}
	slices.SortStableFunc(turns, func(a, b memory.Turn) int { return a.CreatedAt.Compare(b.CreatedAt) })
	places := map[string]Place{}
	for _, t := range turns {
		if t.Role == memory.RoleAssistant {
			places[t.Ref] = placeBehind(t) // if an upstream reuses an id, the later answer wins
		}
	}
	return places
}

// answerID returns the turn id derived from an upstream's answer id, which is the same on every server.
func answerID(owner memory.Owner, answer string) string {
	return core.DerivedID(owner, "answer", answer)
}

// unusedAnswerID returns the turn id for an answer that a later request may refer to. It returns "" if
// the id is already used, since upstreams may reuse ids and no answer may be lost.
func (x *Exchange) answerID(ctx context.Context, answer string) (string, error) {
	if !x.In.Named && x.In.Answer == "" || answer == "" {
		return "", nil
	}
	id := answerID(x.In.Owner, answer)
	stored, err := x.e.Store.Get(ctx, x.In.Owner, id)
	if err != nil || len(stored) > 0 {
		return "", err
	}
	return id, nil
}

// maxShortlist bounds the number of conversations with the same beginning that are read.
const shortlist = 8

// placeRequest finds the conversation of the request and aligns the request with it.
func (x *Exchange) place(ctx, client context.Context) (p Placement, err error) {
	p.request = thread.NewRequest(x.In.Chat.Messages, core.MaxMessages)
	p.request.DeclaredRetry, p.request.ClientLeft = x.In.Again, client.Err() != nil
	var id string
	id, p.alone = x.identify(x.named(), p.request)
	stored, err := x.find(ctx, id, p.request)
	if err != nil {
		return p, err
	}
	if p.contexts, p.rules, err = x.attached(ctx, stored.Conversation); err != nil {
		return p, err
	}
	now := x.e.Time()
	p.conversation = memory.Conversation{
		ID: cmp.Or(id, stored.Conversation.ID, core.NewID()), Owner: x.In.Owner, CreatedAt: now, UpdatedAt: now,
		Project: cmp.Or(x.In.Extras.Project, stored.Conversation.Project),
	}
	if len(stored.Turns) == 0 {
		p.conversation.Title = title(x.In.Chat, x.e.Opts.Learn.Personal)
	}
	x.align(&p, stored)
	p.asked = askedIn(p.At, stored.Turns, x.In.Chat.LastUser())
	if p.back = x.e.noEarlierBlocks(); x.In.Keep && p.Deleted == nil {
		p.unkept = x.restoreBlocks(ctx, &p, earlierBlocks(x.In.Chat, p.At, stored.Turns))
	}
	return p, nil
}

// maxTitle bounds the letters of a title. titleBytes bounds the bytes of the first message that a title
// is made from.
const (
	maxTitle   = 80
	titleBytes = 1 << 10
)

func title(c *chatapi.Chat, personal bool) string {
	for _, m := range c.Messages {
		if m.Role == memory.RoleUser {
			words := []rune(strings.Join(strings.Fields(learn.Redact(core.Clip(m.Text, titleBytes), personal)), " "))
			return string(words[:min(len(words), maxTitle)])
		}
	}
	return ""
}

// identifyMessage returns the turn id of a message without history, derived from the client's key or new. If
// the request names no conversation, the key or an unknown answer id also identifies the conversation.
func (x *Exchange) identify(id string, r thread.Request) (conversation, alone string) {
	key, single := x.In.Chat.Previous, r.OnlyMessage() >= 0 && x.In.After == ""
	if single {
		key = cmp.Or(x.In.Once, x.In.Answer, key)
	}
	if id == "" && key != "" {
		id = core.DerivedID(x.In.Owner, "unknown", key)
	}
	if single {
		alone = core.DerivedID(x.In.Owner, id, "message", cmp.Or(key, core.NewID()), r.Chains()[0])
	}
	return id, alone
}

// align aligns the request with the stored conversation.
func (x *Exchange) align(p *Placement, stored thread.Candidate) {
	p.Deleted = deleted(stored.Conversation)
	switch {
	case x.In.After != "":
		p.At = thread.Follow(stored.Turns, p.request, x.In.After, x.In.From)
	case p.alone != "":
		ids := make([]string, len(x.In.Chat.Messages))
		ids[p.request.OnlyMessage()] = p.alone
		p.At = thread.Resume(stored.Turns, p.request, ids)
	default:
		p.At = thread.Align(stored.Turns, p.request)
	}
}

// findConversation reads the conversation with an id or, for "", the conversation that the request
// continues. A new conversation is empty.
func (x *Exchange) find(ctx context.Context, id string, r thread.Request) (thread.Candidate, error) {
	if id != "" {
		return x.e.conversation(ctx, x.In.Owner, id)
	}
	for _, chains := range [][]string{r.AnswerChains(), r.Chains()} { // answers usually suffice
		cands, err := x.e.conversationsWith(ctx, x.In.Owner, chains)
		if err != nil {
			return thread.Candidate{}, err
		}
		if i := thread.Choose(cands, r, x.e.Time()); i >= 0 {
			return cands[i], nil
		}
	}
	return thread.Candidate{}, nil
}

// readConversation reads a conversation and its last turns. It is empty for an unknown id.
func (e *Exchanges) conversation(ctx context.Context, owner memory.Owner, id string) (stored thread.Candidate, err error) {
	if stored.Turns, err = e.branches(ctx, owner, id); err != nil {
		return stored, err
	}
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{id}})
	if err == nil && len(page.Conversations) > 0 {
		stored.Conversation = page.Conversations[0]
	}
	return stored, err
}

// attachments reads the documents and rules of a conversation. It returns nothing for a deleted
// conversation and for Loci's own chats, which read them elsewhere.
func (x *Exchange) attached(ctx context.Context, c memory.Conversation) (contexts []memory.Context, rules string, err error) {
	if x.In.Own || c.Status == memory.Retired {
		return nil, "", nil
	}
	contexts, err = x.e.ContextsNamed(ctx, x.In.Owner, c.Contexts)
	return contexts, c.Rules, err
}

// deletedMark returns the mark of a deleted conversation, or nil for a conversation that is not deleted.
func deleted(c memory.Conversation) *memory.ConversationMark {
	if c.Status != memory.Retired {
		return nil
	}
	mark := c.Mark()
	return &mark
}

// reopenDeleted returns the change that reopens a deleted conversation, without its earlier messages, or
// nil for a nil mark.
func reopenDeleted(deleted *memory.ConversationMark) []memory.Change {
	if deleted == nil {
		return nil
	}
	mark := *deleted
	mark.Status = memory.Active
	return []memory.Change{{Action: memory.ActionRestore, After: memory.Image{Conversation: &mark}, Reason: "the chat goes on", Author: core.ByDialog}}
}

// askedTurn returns the turn of a user message. For a new message it has only the chain hash. Without a
// user message it is the user's last stored turn.
func askedIn(at thread.Alignment, turns []memory.Turn, message int) memory.Turn {
	id := at.Parent
	if message >= 0 {
		id = at.Turns[message]
	}
	for _, p := range at.New {
		if p.Message == message {
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
func (e *Exchanges) conversationsWith(ctx context.Context, owner memory.Owner, chains []string) ([]thread.Candidate, error) {
	if len(chains) == 0 {
		return nil, nil
	}
	ends, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Chains: chains})
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: thread.Shortlist(ends, shortlist)})
	if err != nil {
		return nil, err
	}
	cands := make([]thread.Candidate, len(page.Conversations))
	for i, c := range page.Conversations {
		cands[i].Conversation = c
		if cands[i].Turns, err = e.branches(ctx, owner, c.ID); err != nil {
			return nil, err
		}
	}
	return cands, nil
}

// readBranches reads the last turns of all branches of a conversation.
func (e *Exchanges) branches(ctx context.Context, owner memory.Owner, id string) ([]memory.Turn, error) {
	return e.Store.Turns(ctx, owner, memory.TurnQuery{
		Conversation: id, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}, Last: core.MaxMessages,
	})
}
