package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

func (d *door) feedbackOperations(a adder) {
	operation(a, http.MethodPost, "/api/memory/{id}/feedback", "feedback-memory", "Say whether a fact was useful or wrong", d.feedback)
}

type feedbackInput struct {
	ByID
	Idempotent
	Body client.FeedbackRequest
}

func (d *door) feedback(ctx context.Context, in *feedbackInput) (*body[client.Memory], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	f, err := d.engine.Curate.Judged(ctx, owner, in.ID, curate.Verdict(in.Body.Verdict), in.Key, author)
	if err != nil {
		return nil, err
	}
	return answer(client.View(memory.Memory{Fact: &f})), nil
}
