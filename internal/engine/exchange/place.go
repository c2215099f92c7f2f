package exchange

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Place is where a conversation goes on: behind one of its turns. The zero Place is
// nowhere.
type Place struct {
	Conversation string
	Turn         string // its id
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
	return Place{Conversation: turns[0].Conversation, Turn: turns[0].ID}
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
