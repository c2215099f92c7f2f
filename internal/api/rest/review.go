package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/memory"
)

func (d *door) reviewOperations(a adder) {
	operation(a, http.MethodGet, "/api/review", "list-review", "What waits for a person, newest first", d.review)
	operation(a, http.MethodPost, "/api/review", "judge", "Approve or reject what waits, in one run", d.judge)
	operation(a, http.MethodPost, "/api/review/rejudge", "rejudge", "Judge anew what waits for want of proof, in one run", d.rejudge)
}

func (d *door) review(ctx context.Context, in *client.ReviewQuery) (*body[client.Review], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	page, err := d.engine.Curate.Waiting(ctx, owner, in.Limit, in.Cursor)
	if err != nil {
		return nil, err
	}
	out := client.Review{Waiting: make([]client.Waiting, 0, len(page.Waiting)), Next: page.Next}
	for _, w := range page.Waiting {
		v := client.ViewWaiting(w.Memory, w.Turn, w.Conflicts)
		v.Reason, v.Author = w.Reason, w.Author
		out.Waiting = append(out.Waiting, v)
	}
	return answer(out), nil
}

type judgeInput struct {
	Idempotent
	Body client.ReviewRequest
}

func (d *door) judge(ctx context.Context, in *judgeInput) (*body[client.Reviewed], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	judgements := make([]curate.Judgement, 0, len(in.Body.Judgements))
	for _, j := range in.Body.Judgements {
		judgements = append(judgements, curate.Judgement{ID: j.ID, Action: j.Action, Content: j.Content, Seen: j.Seen})
	}
	judged, r, err := d.engine.Curate.Judge(ctx, owner, judgements, in.Key, author)
	if err != nil {
		return nil, err
	}
	out := client.Reviewed{Receipt: receipt(r)}
	for _, m := range judged {
		out.Memories = append(out.Memories, client.View(m))
	}
	return answer(out), nil
}

type rejudgeInput struct {
	Idempotent
	Body client.RejudgeRequest
}

func (d *door) rejudge(ctx context.Context, in *rejudgeInput) (*body[client.Rejudged], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	facts, r, err := d.engine.Lessons.Rejudge(ctx, owner, lessons.RejudgeRequest{DryRun: in.Body.DryRun, Idempotency: in.Key}, author)
	if err != nil {
		return nil, err
	}
	out := client.Rejudged{Facts: []client.RejudgedFact{}}
	if r.Run != "" {
		rec := receipt(r)
		out.Receipt = &rec
	}
	for _, one := range facts {
		v := client.RejudgedFact{Memory: client.View(memory.Memory{Fact: &one.Fact})}
		for _, old := range one.Replaces {
			v.Replaces = append(v.Replaces, client.View(memory.Memory{Fact: &old}))
		}
		out.Facts = append(out.Facts, v)
	}
	return answer(out), nil
}
