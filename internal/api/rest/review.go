package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
)

func (d learningAPI) reviewOperations(a adder) {
	owned(a, http.MethodGet, "/api/review", "list-review", "What waits for a person, newest first", d.review)
	owned(a, http.MethodPost, "/api/review", "judge", "Approve or reject what waits, in one run", d.judge)
}

func (d learningAPI) review(ctx context.Context, by caller, in *client.ReviewQuery) (out client.Review, err error) {
	page, err := d.engine.Curate.Waiting(ctx, by.owner, in.Limit, in.Cursor)
	if err != nil {
		return out, err
	}
	out = client.Review{Waiting: make([]client.Waiting, 0, len(page.Waiting)), Next: page.Next}
	for _, w := range page.Waiting {
		v := client.ViewWaiting(w.Memory, w.Turn, w.Conflicts)
		v.Reason, v.Author = w.Reason, w.Author
		out.Waiting = append(out.Waiting, v)
	}
	return out, nil
}

type judgeInput struct {
	Idempotent
	Body client.ReviewRequest
}

func (d learningAPI) judge(ctx context.Context, by caller, in *judgeInput) (out client.Reviewed, err error) {
	judgements := make([]curate.Judgement, 0, len(in.Body.Judgements))
	for _, j := range in.Body.Judgements {
		judgements = append(judgements, curate.Judgement{ID: j.ID, Action: j.Action, Content: j.Content, Seen: j.Seen})
	}
	judged, r, err := d.engine.Curate.Judge(ctx, by.owner, judgements, in.Key, by.author)
	if err != nil {
		return out, err
	}
	out = client.Reviewed{Receipt: receipt(r)}
	for _, m := range judged {
		out.Memories = append(out.Memories, client.View(m))
	}
	return out, nil
}
