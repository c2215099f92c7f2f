package exchange

import (
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
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

// unknown names the conversation of what goes on from an answer that is not known: one of
// its own, the same where that is asked again, and no other that begins with the same
// words. It is "" where the request names no answer.
func (x *Exchange) unknown() string {
	if x.In.Chat.Previous == "" {
		return ""
	}
	return core.DerivedID(x.In.Owner, "unknown", x.In.Chat.Previous)
}

// Kept returns the place behind the answer, the zero Place where the exchange was not
// stored. Ask once [Exchange.RecordAnswer] has returned.
func (x *Exchange) Kept() Place { return x.kept }
