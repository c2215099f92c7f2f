package proxy

import (
	"cmp"
	"context"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// maxAnswers is how many answers and items of answers are remembered by their id: those
// of some days, for the users of one server.
const maxAnswers = 20_000

// responseIndex remembers where conversations go on from the latest answers. A request of
// the Responses API may name the answer that it goes on from and send nothing of what
// came before, or refer to items of answers instead of sending them. Memory itself knows
// the answers that have a turn of their own; here are those without words, those that
// said once more what was said, and those that were not stored.
type responseIndex = recent.Map[answerKey, exchange.Place]

// answerKey is an answer that an owner was given, or an item of one: nobody goes on from
// another's.
type answerKey struct {
	owner memory.Owner
	id    string
}

// rememberAnswer remembers an answer and its items.
func (c *call) rememberAnswer(a chatapi.Answer, place exchange.Place) {
	if place.Conversation == "" {
		return
	}
	for _, id := range append([]string{a.ID}, a.Items...) {
		if id != "" && len(id) <= maxAnswerID {
			c.answers.Set(answerKey{c.owner, id}, place)
		}
	}
}

// maxAnswerID bounds an id, which an upstream makes, in bytes.
const maxAnswerID = 256

// continuation returns where a request goes on, by what it says of the server's keeping; the
// zero place where it says nothing that is known.
func (d *Handler) continuation(ctx context.Context, owner memory.Owner, chat *chatapi.Chat) exchange.Place {
	switch {
	case chat.Conversation != "":
		return exchange.Place{Conversation: chat.Conversation}
	case chat.Previous == "" || owner == "" || len(chat.Previous) > maxAnswerID:
		return exchange.Place{}
	}
	if place, known := d.answers.Get(answerKey{owner, chat.Previous}); known {
		return place
	}
	return d.engine.Exchange.PlaceOf(ctx, owner, chat.Previous)
}

// resolve gives the answers that a request only refers to the chains by which they are
// known. What refers to others and says nothing itself is left out.
func (d *Handler) resolve(ctx context.Context, owner memory.Owner, msgs []chatapi.Message) []chatapi.Message {
	chains, unknown := map[string]string{}, []string(nil)
	for _, m := range msgs {
		for _, id := range m.Refs {
			place, _ := d.answers.Get(answerKey{owner, id})
			if chains[id] = place.Chain; place.Chain == "" && id != "" && len(id) <= maxAnswerID {
				unknown = append(unknown, id)
			}
		}
	}
	if len(unknown) > 0 && owner != "" {
		for id, place := range d.engine.Exchange.PlacesOfItems(ctx, owner, unknown) {
			chains[id] = place.Chain
		}
	}
	var out []chatapi.Message
	for _, m := range msgs {
		for _, id := range m.Refs {
			m.Chain = cmp.Or(m.Chain, chains[id])
		}
		if len(m.Refs) == 0 || m.Chain != "" || m.Text != "" || m.ToolCalls {
			out = append(out, m)
		}
	}
	return out
}
