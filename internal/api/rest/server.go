package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func (d serverAPI) serverOperations(a adder) {
	operation(a, http.MethodGet, "/health", "get-health", "How the server is", d.health)
	operation(a, http.MethodGet, "/health/live", "get-live", "Whether the process lives", d.live)
	operation(a, http.MethodGet, "/health/ready", "get-ready", "Whether requests can be served", d.ready)
	owned(a, http.MethodGet, "/api/stats", "get-stats", "How much there is", d.stats)
	owned(a, http.MethodGet, "/api/jobs", "list-jobs", "Work that is under way, waiting or parked", d.jobs)
	operation(a, http.MethodPost, "/api/jobs/{id}/retry", "retry-job", "Try a parked job again", d.retry)
}

func (d serverAPI) health(ctx context.Context, _ *struct{}) (*body[client.Health], error) {
	return answer(d.Health(ctx)), nil
}

func (d serverAPI) live(context.Context, *struct{}) (*struct{}, error) { return nil, nil }

func (d serverAPI) ready(ctx context.Context, _ *struct{}) (*struct{}, error) {
	if h := d.Health(ctx); h.Status != "ok" {
		return nil, memory.Errorf(memory.Unavailable, "the store does not answer: %s", h.Status)
	}
	return nil, nil
}

func (d serverAPI) stats(ctx context.Context, by caller, _ *struct{}) (out client.Stats, err error) {
	counts, err := d.engine.Stats(ctx, by.owner)
	if err != nil {
		return out, err
	}
	rates := d.engine.Metrics.Rates()
	return client.Stats{
		Counts: counts, Total: counts.Facts + counts.Turns + counts.Summaries,
		Replacement: rates.Replacement, Dedup: rates.Dedup, Hit: rates.Hit,
		Pause: string(d.engine.Paused(ctx, by.owner)),
	}, nil
}

func (d serverAPI) jobs(ctx context.Context, by caller, _ *struct{}) (out client.Jobs, err error) {
	jobs, err := d.engine.Lessons.Jobs(ctx, by.owner)
	if err != nil {
		return out, err
	}
	return client.Jobs{Jobs: each(jobs, client.ViewJob)}, nil
}

func (d serverAPI) retry(ctx context.Context, in *ByID) (*struct{}, error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	return nil, d.engine.Curate.RetryJob(ctx, owner, in.ID)
}
