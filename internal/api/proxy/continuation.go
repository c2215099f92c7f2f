package proxy

import (
	"cmp"
	"context"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// maxAnswers is the maximum number of ids in the index, of answers and of their items; enough for a few days of use.
const maxAnswers = 20_000

// answerIndex maps ids of recent answers to places in conversations. A request of the Responses API may name an
// earlier answer or the answer's items instead of sending the messages. The store contains only answers that became
// turns; this index also contains answers without text, repeated answers and answers that were not stored.
type answerIndex = recent.Map[answerKey, exchange.ContinuationPoint]

// answerKey is the id of an answer or item, with the owner, so that users cannot continue other users' answers.
type answerKey struct {
	owner memory.Owner
	id    string
}

// indexAnswer adds the ids of an answer and of its items to the index, with the answer's place.
func (c *call) indexAnswer(a chatapi.Answer, place exchange.ContinuationPoint) {
	if place.Conversation == "" {
		return
	}
	for _, id := range append([]string{a.ID}, a.ItemIDs...) {
		if id != "" && len(id) <= maxAnswerID {
			c.answerIndex.Set(answerKey{c.owner, id}, place)
		}
	}
}

// maxAnswerID is the maximum length of an id in bytes. The upstream or the client chooses the id.
const maxAnswerID = 256

// continuation returns the place after which a request continues. It finds the place by the request's conversation
// id or its previous answer's id, and returns the zero value if both are absent or unknown.
func (d *Handler) continuation(ctx context.Context, owner memory.Owner, chat *chatapi.Chat) exchange.ContinuationPoint {
	switch {
	case chat.ConversationID != "":
		return exchange.ContinuationPoint{Conversation: chat.ConversationID}
	case chat.PreviousAnswerID == "" || owner == "" || len(chat.PreviousAnswerID) > maxAnswerID:
		return exchange.ContinuationPoint{}
	}
	if place, ok := d.answerIndex.Get(answerKey{owner, chat.PreviousAnswerID}); ok {
		return place
	}
	return d.engine.Exchange.PointAfterAnswer(ctx, owner, chat.PreviousAnswerID)
}

// resolveRefs sets the chain hashes of messages that refer to earlier answers by id. It drops a message without text
// if the answer is unknown.
func (d *Handler) resolveRefs(ctx context.Context, owner memory.Owner, msgs []chatapi.Message) []chatapi.Message {
	chains, unknown := map[string]string{}, []string(nil)
	for _, m := range msgs {
		for _, id := range m.ItemRefs {
			place, _ := d.answerIndex.Get(answerKey{owner, id})
			if chains[id] = place.ChainHash; place.ChainHash == "" && id != "" && len(id) <= maxAnswerID {
				unknown = append(unknown, id)
			}
		}
	}
	if len(unknown) > 0 && owner != "" {
		for id, place := range d.engine.Exchange.PointsAfterItems(ctx, owner, unknown) {
			chains[id] = place.ChainHash
		}
	}
	var out []chatapi.Message
	for _, m := range msgs {
		for _, id := range m.ItemRefs {
			m.Chain = cmp.Or(m.Chain, chains[id])
		}
		if len(m.ItemRefs) == 0 || m.Chain != "" || m.Text != "" || m.ToolCalls {
			out = append(out, m)
		}
	}
	return out
}
