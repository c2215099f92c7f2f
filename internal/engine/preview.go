package engine

import (
	"context"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Preview is what a talk would change.
type Preview struct {
	Changes   []memory.Change
	Decisions []learn.Outcome // what would become of each statement, those passed over too
	Forgotten []memory.Memory // what its wishes to forget mean
}

// Preview says what learning from a talk would change, and changes nothing. A
// model that learns is asked, and paid, as it would be.
func (e *Engine) Preview(ctx context.Context, owner memory.Owner, talk Talk) (Preview, error) {
	if len(talk.Messages) == 0 {
		return Preview{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	conversation := talk.Conversation
	if conversation == "" {
		conversation = newID()
	}
	talk.Infer, talk.Idempotency = true, ""
	turns, err := e.turnsOf(ctx, owner, conversation, talk)
	if err != nil {
		return Preview{}, err
	}
	var out Preview
	for _, chunk := range inChunks(turns) {
		l, err := e.lesson(ctx, memory.Job{Owner: owner, Conversation: conversation, CreatedAt: e.now()}, chunk)
		if err != nil {
			return Preview{}, err
		}
		p, err := e.plan(ctx, l, newID())
		if err != nil {
			return Preview{}, err
		}
		out.Changes, out.Forgotten = append(out.Changes, p.changes...), append(out.Forgotten, p.forgotten...)
		out.Decisions = append(append(out.Decisions, p.outcomes...), l.passedOver()...)
	}
	return out, nil
}
