package exchange

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

// Place is where a conversation goes on: behind one of its turns. The zero Place is
// nowhere.
type Place struct {
	Conversation string
	Turn         string // its id
	Chain        string // of that turn where it is an answer, for [wire.Message]
}

// PlaceOf returns the place behind the answer to which an upstream gave that id, of an
// exchange whose answer may be named; the zero Place where the owner was given none, it
// had no words, or the store could not say in time.
func (e *Exchanges) PlaceOf(ctx context.Context, owner memory.Owner, answer string) Place {
	ctx, cancel := context.WithTimeout(ctx, e.Opts.Deadline)
	defer cancel()
	turns, err := e.answers(ctx, owner, answer)
	if err != nil {
		e.Log.Warn("the answer that a chat goes on from was not looked up", "user", owner.Name(), "err", err)
	}
	if len(turns) == 0 {
		return Place{}
	}
	return placeBehind(turns[0])
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

// answers returns the turn of the answer to which an upstream gave that id, if there is one.
func (e *Exchanges) answers(ctx context.Context, owner memory.Owner, answer string) ([]memory.Turn, error) {
	return e.Store.Turns(ctx, owner, memory.TurnQuery{
		IDs: []string{answerID(owner, answer)}, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired},
	})
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
	known, err := x.e.answers(ctx, x.In.Owner, answer)
	if err != nil || len(known) > 0 {
		return "", err
	}
	return answerID(x.In.Owner, answer), nil
}

// Kept returns the place behind the answer, the zero Place where the exchange was not
// stored. Ask once [Exchange.RecordAnswer] has returned.
func (x *Exchange) Kept() Place { return x.kept }

// shortlist is how many conversations that begin like the request are read.
const shortlist = 8

// place chooses the conversation and aligns the request with it. A client that waits still may
// have seen what is there.
func (x placer) place(ctx, client context.Context) error {
	left := x.request.Left
	x.request = thread.NewRequest(x.In.Chat.Messages, core.MaxMessages)
	x.request.Left, x.request.Again = left, x.In.Again
	id := x.proof(x.named())
	known, err := x.known(ctx, id)
	if err != nil {
		return err
	}
	if id = cmp.Or(id, known.Conversation.ID); id == "" {
		id = core.NewID()
	}
	if err := x.attach(ctx, known.Conversation); err != nil {
		return err
	}
	turns, now := known.Turns, x.e.Time()
	x.conversation = memory.Conversation{
		ID: id, Owner: x.In.Owner, Project: cmp.Or(x.In.Extras.Project, known.Conversation.Project), CreatedAt: now, UpdatedAt: now,
	}
	if len(turns) == 0 {
		x.conversation.Title = title(x.In.Chat, x.e.Opts.Learn.Personal)
	}
	if x.At = x.align(turns); client.Err() == nil {
		x.seen = x.At
	}
	if x.In.Keep && x.Deleted == nil {
		x.earlier = blocks(x).blocksBefore(turns)
	}
	if x.chain = chainOf(x.At, turns, x.In.Chat.LastUser()); x.resultsAlone() {
		x.before = askedBefore(turns, x.At.Parent)
		x.chain = x.before.Chain
	}
	x.Placed = true
	return nil
}

// proof names the turn of a message that comes without its history, and so does not show its
// place: by the client's key for it, else as no other. It returns the conversation's id:
// where the request names none, that of the key or of an answer that is not known.
func (x placer) proof(id string) string {
	key, alone := x.In.Chat.Previous, x.request.Alone() >= 0 && x.In.After == ""
	if alone {
		key = cmp.Or(x.In.Once, x.In.Answer, key)
	}
	if id == "" && key != "" {
		id = core.DerivedID(x.In.Owner, "unknown", key)
	}
	if alone && x.alone == "" { // or it is placed once more
		x.alone = core.DerivedID(x.In.Owner, id, "message", cmp.Or(key, core.NewID()), x.request.Chains()[0])
	}
	return id
}

// align aligns the request with the turns of its conversation.
func (x placer) align(turns []memory.Turn) thread.Alignment {
	switch {
	case x.In.After != "":
		return thread.Follow(turns, x.request, x.In.After, x.In.From)
	case x.alone != "":
		ids := make([]string, len(x.In.Chat.Messages))
		ids[x.request.Alone()] = x.alone
		return thread.Resume(turns, x.request, ids)
	}
	return thread.Align(turns, x.request)
}

// known reads the conversation of an id or, if id is "", the one that the request continues.
// It is empty for a new one.
func (x placer) known(ctx context.Context, id string) (thread.Candidate, error) {
	if id == "" {
		return x.choose(ctx)
	}
	turns, err := x.e.branches(ctx, x.In.Owner, id)
	if err != nil {
		return thread.Candidate{}, err
	}
	known := thread.Candidate{Turns: turns}
	page, err := x.e.Store.Conversations(ctx, x.In.Owner, memory.ConversationQuery{IDs: []string{id}})
	if err != nil {
		return thread.Candidate{}, err
	}
	for _, c := range page.Conversations {
		known.Conversation = c
	}
	return known, nil
}

// attach reads what is attached to the stored conversation and its rules, and notes
// whether that was deleted.
func (x placer) attach(ctx context.Context, known memory.Conversation) (err error) {
	if x.Deleted = nil; known.Status == memory.Retired {
		mark := known.Mark()
		x.Deleted = &mark
		return nil
	}
	x.Rules = known.Rules
	x.Contexts, err = x.e.ContextsNamed(ctx, x.In.Owner, known.Contexts)
	return err
}

// comesBack returns the change by which a conversation that was deleted and goes on is
// there again, without what was said in it before.
func (x placer) comesBack() []memory.Change {
	if x.Deleted == nil {
		return nil
	}
	return goesOn(*x.Deleted, 0)
}

// goesOn returns the change that brings a conversation back which was deleted. base is as
// in [memory.Change].
func goesOn(mark memory.ConversationMark, base int64) []memory.Change {
	mark.Status = memory.Active
	return []memory.Change{{
		Action: memory.ActionRestore, After: memory.Image{Conversation: &mark}, Base: base, Reason: "the chat goes on", Author: core.ByDialog,
	}}
}

// chainOf returns the chain of a message's turn, stored or new.
func chainOf(at thread.Alignment, turns []memory.Turn, message int) string {
	if message < 0 {
		return ""
	}
	for _, t := range turns {
		if t.ID == at.Turns[message] {
			return t.Chain
		}
	}
	for _, p := range at.New {
		if p.Message == message {
			return p.Chain
		}
	}
	return ""
}

// askedBefore returns the last turn of the user on the path to a turn, the zero Turn
// without one.
func askedBefore(turns []memory.Turn, id string) memory.Turn {
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

// resultsAlone reports whether the request holds no words of the user: they went before,
// to a server that keeps them.
func (x *Exchange) resultsAlone() bool { return x.In.Chat.LastUser() < 0 }

// choose finds the conversation that a request without an id continues; an empty one if it
// begins a new one.
func (x placer) choose(ctx context.Context) (thread.Candidate, error) {
	if telling := x.request.Telling(); len(telling) > 0 {
		cands, err := x.e.holding(ctx, x.In.Owner, telling)
		if err != nil {
			return thread.Candidate{}, err
		}
		if i := thread.Choose(cands, x.request, x.e.Time()); i >= 0 {
			return cands[i], nil
		}
	}
	cands, err := x.e.holding(ctx, x.In.Owner, x.request.Chains())
	if i := thread.Choose(cands, x.request, x.e.Time()); err == nil && i >= 0 {
		return cands[i], nil
	}
	return thread.Candidate{}, err
}

// holding reads the conversations that hold a turn of one of these chains, at most
// shortlist of them.
func (e *Exchanges) holding(ctx context.Context, owner memory.Owner, chains []string) ([]thread.Candidate, error) {
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
