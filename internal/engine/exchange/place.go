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

// Placement is where a request belongs in its conversation. The zero Placement is nowhere.
type Placement struct {
	At      thread.Alignment
	Err     error                    // why it was not found out, though that was tried
	Ended   time.Time                // when it was; zero where that was not tried
	Deleted *memory.ConversationMark // of a conversation that was deleted and goes on

	conversation memory.Conversation
	contexts     []memory.Context // attached to it
	rules        string           // that its user set for it
	request      thread.Request
	alone        string      // id of the turn of a message that comes without its history, "" for others
	asked        memory.Turn // the last user message as it is stored, or its chain alone; see askedIn
	back         putBack     // blocks that the conversation had before, as they are put back
	unkept       error       // why they are not
}

// Known reports whether it is known where the request belongs.
func (p *Placement) Known() bool { return p.Err == nil && p.conversation.ID != "" }

// Conversation returns the id of the conversation, "" while it is not known.
func (p *Placement) Conversation() string { return p.conversation.ID }

// Place is where a conversation goes on: behind one of its turns. The zero Place is
// nowhere.
type Place struct {
	Conversation string
	Turn         string // its id
	Chain        string // of that turn where it is an answer, for [chatapi.Message]
}

// PlaceOf returns the place behind the answer to which an upstream gave that id, of an
// exchange whose answer may be named; the zero Place where the owner was given none, it
// had no words, or the store could not say in time.
func (e *Exchanges) PlaceOf(ctx context.Context, owner memory.Owner, answer string) Place {
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	defer cancel()
	found, err := e.Store.Get(ctx, owner, answerID(owner, answer))
	if err != nil {
		e.Log.Warn("the answer that a chat goes on from was not looked up", "user", owner.Name(), "err", err)
	}
	if len(found) == 0 || found[0].Turn == nil {
		return Place{}
	}
	return placeBehind(*found[0].Turn)
}

func placeBehind(t memory.Turn) Place {
	return Place{Conversation: t.Conversation, Turn: t.ID, Chain: t.Chain}
}

// PlacesOfItems returns the places behind the answers of which these are items, by item;
// those that are not stored, or that the store could not name in time, are missing.
func (e *Exchanges) PlacesOfItems(ctx context.Context, owner memory.Owner, items []string) map[string]Place {
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	defer cancel()
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		Refs: items, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired},
	})
	if err != nil {
		e.Log.Warn("the answers that a chat refers to were not looked up", "user", owner.Name(), "err", err)
	}
	slices.SortStableFunc(turns, func(a, b memory.Turn) int { return a.CreatedAt.Compare(b.CreatedAt) })
	places := map[string]Place{}
	for _, t := range turns {
		if t.Role == memory.RoleAssistant {
			places[t.Ref] = placeBehind(t) // of an id that an upstream gave twice, the later one
		}
	}
	return places
}

// answerID is the id of the turn of such an answer, so that any server finds it by that.
func answerID(owner memory.Owner, answer string) string {
	return core.DerivedID(owner, "answer", answer)
}

// answerID returns the id that the answer's turn gets where a later request may name it,
// "" for the usual one: an upstream may give the same id twice, and no words are lost by
// that.
func (x *Exchange) answerID(ctx context.Context, answer string) (string, error) {
	if !x.In.Named && x.In.Answer == "" || answer == "" {
		return "", nil
	}
	id := answerID(x.In.Owner, answer)
	known, err := x.e.Store.Get(ctx, x.In.Owner, id)
	if err != nil || len(known) > 0 {
		return "", err
	}
	return id, nil
}

// shortlist is how many conversations that begin like the request are read.
const shortlist = 8

// place chooses the conversation and aligns the request with it.
func (x *Exchange) place(ctx, client context.Context) (p Placement, err error) {
	p.request = thread.NewRequest(x.In.Chat.Messages, core.MaxMessages)
	p.request.Again, p.request.Left = x.In.Again, client.Err() != nil
	var id string
	id, p.alone = x.proof(x.named(), p.request)
	known, err := x.known(ctx, id, p.request)
	if err != nil {
		return p, err
	}
	if p.contexts, p.rules, err = x.attached(ctx, known.Conversation); err != nil {
		return p, err
	}
	now := x.e.Time()
	p.conversation = memory.Conversation{
		ID: cmp.Or(id, known.Conversation.ID, core.NewID()), Owner: x.In.Owner, CreatedAt: now, UpdatedAt: now,
		Project: cmp.Or(x.In.Extras.Project, known.Conversation.Project),
	}
	if len(known.Turns) == 0 {
		p.conversation.Title = title(x.In.Chat, x.e.Opts.Learn.Personal)
	}
	x.align(&p, known)
	p.asked = askedIn(p.At, known.Turns, x.In.Chat.LastUser())
	if p.back = x.e.nothingBack(); x.In.Keep && p.Deleted == nil {
		p.unkept = x.readBack(ctx, &p, earlierBlocks(x.In.Chat, p.At, known.Turns))
	}
	return p, nil
}

// maxTitle is how many letters a title has, and titleBytes how much of the first
// message is looked at for it.
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

// proof names the turn of a message that comes without its history, and so does not show its
// place: by the client's key for it, else as no other. Where the request names no conversation,
// it is that of the key or of an answer that is not known.
func (x *Exchange) proof(id string, r thread.Request) (conversation, alone string) {
	key, single := x.In.Chat.Previous, r.Alone() >= 0 && x.In.After == ""
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

// align aligns the request with its conversation as that is now.
func (x *Exchange) align(p *Placement, known thread.Candidate) {
	p.Deleted = deleted(known.Conversation)
	switch {
	case x.In.After != "":
		p.At = thread.Follow(known.Turns, p.request, x.In.After, x.In.From)
	case p.alone != "":
		ids := make([]string, len(x.In.Chat.Messages))
		ids[p.request.Alone()] = p.alone
		p.At = thread.Resume(known.Turns, p.request, ids)
	default:
		p.At = thread.Align(known.Turns, p.request)
	}
}

// known reads the conversation of an id or, if id is "", the one that the request continues.
// It is empty for a new one.
func (x *Exchange) known(ctx context.Context, id string, r thread.Request) (thread.Candidate, error) {
	if id != "" {
		return x.e.conversation(ctx, x.In.Owner, id)
	}
	for _, chains := range [][]string{r.Telling(), r.Chains()} { // the answers first, which most often suffice
		cands, err := x.e.holding(ctx, x.In.Owner, chains)
		if err != nil {
			return thread.Candidate{}, err
		}
		if i := thread.Choose(cands, r, x.e.Time()); i >= 0 {
			return cands[i], nil
		}
	}
	return thread.Candidate{}, nil
}

// conversation reads a conversation and the last of its turns; it is empty where there is none.
func (e *Exchanges) conversation(ctx context.Context, owner memory.Owner, id string) (known thread.Candidate, err error) {
	if known.Turns, err = e.branches(ctx, owner, id); err != nil {
		return known, err
	}
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{id}})
	if err == nil && len(page.Conversations) > 0 {
		known.Conversation = page.Conversations[0]
	}
	return known, err
}

// attached reads what is attached to a stored conversation and its rules; nothing of one that
// was deleted, and of one of Loci's own, which have places of their own.
func (x *Exchange) attached(ctx context.Context, c memory.Conversation) (contexts []memory.Context, rules string, err error) {
	if x.In.Own || c.Status == memory.Retired {
		return nil, "", nil
	}
	contexts, err = x.e.ContextsNamed(ctx, x.In.Owner, c.Contexts)
	return contexts, c.Rules, err
}

// deleted returns the mark of a conversation that was deleted, nil for others.
func deleted(c memory.Conversation) *memory.ConversationMark {
	if c.Status != memory.Retired {
		return nil
	}
	mark := c.Mark()
	return &mark
}

// goesOn returns the change by which a conversation that was deleted and goes on is there
// again, without what was said in it before; nil for one that was not.
func goesOn(deleted *memory.ConversationMark) []memory.Change {
	if deleted == nil {
		return nil
	}
	mark := *deleted
	mark.Status = memory.Active
	return []memory.Change{{Action: memory.ActionRestore, After: memory.Image{Conversation: &mark}, Reason: "the chat goes on", Author: core.ByDialog}}
}

// askedIn returns the turn of a user message, of one that is new the chain alone. Without a
// message it is the last one of the user before what is known.
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

// holding reads the conversations that hold a turn of one of these chains, at most
// shortlist of them.
func (e *Exchanges) holding(ctx context.Context, owner memory.Owner, chains []string) ([]thread.Candidate, error) {
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

// branches reads the last turns of a conversation, which may never end, of every branch.
func (e *Exchanges) branches(ctx context.Context, owner memory.Owner, id string) ([]memory.Turn, error) {
	return e.Store.Turns(ctx, owner, memory.TurnQuery{
		Conversation: id, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}, Last: core.MaxMessages,
	})
}
