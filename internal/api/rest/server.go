package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func (d *door) serverOperations(a adder) {
	operation(a, http.MethodGet, "/health", "get-health", "How the server is", d.health)
	operation(a, http.MethodGet, "/health/live", "get-live", "Whether the process lives", d.live)
	operation(a, http.MethodGet, "/health/ready", "get-ready", "Whether requests can be served", d.ready)
	operation(a, http.MethodGet, "/api/stats", "get-stats", "How much there is", d.stats)
	operation(a, http.MethodGet, "/api/jobs", "list-jobs", "Work that is under way, waiting or parked", d.jobs)
	operation(a, http.MethodPost, "/api/jobs/{id}/retry", "retry-job", "Try a parked job again", d.retry)
}

func (d *door) health(ctx context.Context, _ *struct{}) (*body[client.Health], error) {
	return answer(d.Health(ctx)), nil
}

func (d *door) live(context.Context, *struct{}) (*struct{}, error) { return nil, nil }

func (d *door) ready(ctx context.Context, _ *struct{}) (*struct{}, error) {
	if h := d.Health(ctx); h.Status != "ok" {
		return nil, memory.Errorf(memory.Unavailable, "the store does not answer: %s", h.Status)
	}
	return nil, nil
}

func (d *door) stats(ctx context.Context, _ *struct{}) (*body[client.Stats], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := d.engine.Stats(ctx, owner)
	if err != nil {
		return nil, err
	}
	rates := d.engine.Metrics.Rates()
	return answer(client.Stats{
		Counts: counts, Total: counts.Facts + counts.Turns + counts.Summaries,
		Replacement: rates.Replacement, Dedup: rates.Dedup, Hit: rates.Hit,
		Pause: string(d.engine.Paused(ctx, owner)),
	}), nil
}

func (d *door) jobs(ctx context.Context, _ *struct{}) (*body[client.Jobs], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := d.engine.Lessons.Jobs(ctx, owner)
	if err != nil {
		return nil, err
	}
	out := client.Jobs{Jobs: []client.Job{}}
	for _, j := range jobs {
		out.Jobs = append(out.Jobs, client.ViewJob(j))
	}
	return answer(out), nil
}

func (d *door) retry(ctx context.Context, in *ByID) (*struct{}, error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	return nil, d.engine.Curate.RetryJob(ctx, owner, in.ID)
}
