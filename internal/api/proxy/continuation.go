package proxy

import (
	"cmp"
	"context"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// maxAnswers bounds the remembered ids of answers and their items. It covers a few days of use.
const maxAnswers = 20_000

// responseIndex maps recent answers to their place in a conversation. A request of the Responses API may refer to
// an earlier answer or its items instead of sending the messages. The store has only answers that became turns;
// this index also has answers without text, repeated answers and answers that were not stored.
type responseIndex = recent.Map[answerKey, exchange.Place]

// answerKey is the id of an answer or item, with its owner, so that nobody can continue another
// user's answer.
type answerKey struct {
	owner memory.Owner
	id    string
}

// rememberAnswer stores the place of an answer and its items.
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

// maxAnswerID bounds the length of an id in bytes. The upstream chooses the id.
const maxAnswerID = 256

// continuation returns the place that a request continues, which it names by a conversation or answer id. The
// place is zero if the request names none or an unknown id.
func (d *Handler) continuation(ctx context.Context, owner memory.Owner, chat *chatapi.Chat) exchange.Place {
	switch {
	case chat.Conversation != "":
		return exchange.Place{Conversation: chat.Conversation}
	case chat.Previous == "" || owner == "" || len(chat.Previous) > maxAnswerID:
		return exchange.Place{}
	}
	if place, ok := d.answers.Get(answerKey{owner, chat.Previous}); ok {
		return place
	}
	return d.engine.Exchange.PlaceOf(ctx, owner, chat.Previous)
}

// resolve sets the chain hashes of messages that only refer to answers. It drops messages without text
// whose reference is unknown.
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
