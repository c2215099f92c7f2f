package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
)

func (d *handler) serverOperations(a adder) {
	operation(a, http.MethodGet, "/health", "get-health", "How the server is", func(ctx context.Context, _ *struct{}) (*body[client.Health], error) {
		return &body[client.Health]{d.Health(ctx)}, nil
	})
	operation(a, http.MethodGet, "/health/live", "get-live", "Whether the process lives", func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	operation(a, http.MethodGet, "/health/ready", "get-ready", "Whether requests can be served, and what is wrong all the same", func(ctx context.Context, _ *struct{}) (*readiness, error) {
		is := d.Ready(ctx)
		return &readiness{readyStatus(is), is}, nil
	})
	owned(a, http.MethodGet, "/api/stats", "get-stats", "How much there is", func(ctx context.Context, by caller, _ *struct{}) (client.Stats, error) {
		counts, err := d.engine.Stats(ctx, by.owner)
		rates := d.engine.Metrics.Rates()
		return client.Stats{
			Counts: counts, Total: counts.Facts + counts.Turns + counts.Summaries,
			Replacement: rates.Replacement, Dedup: rates.Dedup, Hit: rates.Hit,
			Pause: string(d.engine.Paused(ctx, by.owner)),
		}, err
	})
	owned(a, http.MethodGet, "/api/jobs", "list-jobs", "Work that is under way, waiting or parked", func(ctx context.Context, by caller, _ *struct{}) (client.Jobs, error) {
		jobs, err := d.engine.Lessons.Jobs(ctx, by.owner)
		return client.Jobs{Jobs: each(jobs, client.ViewJob)}, err
	})
	operation(a, http.MethodPost, "/api/jobs/{id}/retry", "retry-job", "Try a parked job again", func(ctx context.Context, in *ByID) (*struct{}, error) {
		by, err := who(ctx)
		if err != nil {
			return nil, err
		}
		return nil, d.engine.Curate.RetryJob(ctx, by.owner, in.ID)
	})
}

// readiness is the answer of a readiness probe.
type readiness struct {
	Status int
	Body   client.Ready
}

// readyStatus takes out of the service what is about to stop, and nothing else.
func readyStatus(is client.Ready) int {
	if is.Status != client.StatusReady {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
