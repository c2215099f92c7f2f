package exchange

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/lessons"
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
func (e *Exchanges) Preview(ctx context.Context, owner memory.Owner, talk Talk) (Preview, error) {
	if len(talk.Messages) == 0 {
		return Preview{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	conversation := talk.Conversation
	if conversation == "" {
		conversation = core.NewID()
	}
	talk.Infer, talk.Idempotency = true, ""
	turns, err := e.turnsOf(ctx, owner, conversation, talk)
	if err != nil {
		return Preview{}, err
	}
	var out Preview
	for _, chunk := range lessons.InChunks(turns) {
		l, err := e.Lessons.Lesson(ctx, memory.Job{Owner: owner, Conversation: conversation, CreatedAt: e.Time()}, chunk)
		if err != nil {
			return Preview{}, err
		}
		p, err := e.Lessons.Plan(ctx, l, core.NewID())
		if err != nil {
			return Preview{}, err
		}
		out.Changes, out.Forgotten = append(out.Changes, p.Changes...), append(out.Forgotten, p.Forgotten...)
		out.Decisions = append(append(out.Decisions, p.Outcomes...), l.PassedOver()...)
	}
	return out, nil
}
