package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
)

func (d *handler) addReviewOperations(a registrar) {
	registerForCaller(a, http.MethodGet, "/api/review", "list-review", "List facts that wait for a person's decision, newest first", func(ctx context.Context, by caller, in *client.ReviewQuery) (client.Review, error) {
		page, err := d.engine.Curate.PendingFacts(ctx, by.owner, in.Limit, in.Cursor)
		return client.Review{Next: page.Next, Waiting: mapSlice(page.Facts, func(w curate.PendingFact) client.Waiting {
			v := client.ViewWaiting(w.Memory, w.Turn, w.Conflicts)
			v.Reason, v.Author = w.Reason, w.Author
			return v
		})}, err
	})
	registerForCaller(a, http.MethodPost, "/api/review", "judge", "Approve or reject pending facts, in one run", func(ctx context.Context, by caller, in *writeRequest[client.ReviewRequest]) (client.Reviewed, error) {
		judged, r, err := d.engine.Curate.Judge(ctx, by.owner, mapSlice(in.Body.Judgements, func(j client.Judgement) curate.Judgement {
			return curate.Judgement{ID: j.ID, Action: j.Action, Content: j.Content, SeenText: j.SeenText}
		}), in.Key, by.author)
		return client.Reviewed{Receipt: receiptView(r), Memories: memoryViews(judged)}, err
	})
}
