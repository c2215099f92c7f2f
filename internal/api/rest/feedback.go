package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
)

func (d memoryAPI) feedbackOperations(a adder) {
	owned(a, http.MethodPost, "/api/memory/{id}/feedback", "feedback-memory", "Say whether a fact was useful or wrong", d.feedback)
}

type feedbackInput struct {
	ByID
	Idempotent
	Body client.FeedbackRequest
}

func (d memoryAPI) feedback(ctx context.Context, by caller, in *feedbackInput) (client.Memory, error) {
	return viewed(factView)(d.engine.Curate.Judged(ctx, by.owner, in.ID, curate.Verdict(in.Body.Verdict), in.Key, by.author))
}
