package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
)

func (d *handler) addServerOperations(a registrar) {
	register(a, http.MethodGet, "/health", "get-health", "Show the state of the server", func(ctx context.Context, _ *struct{}) (*body[client.Health], error) {
		return &body[client.Health]{d.Health(ctx)}, nil
	})
	register(a, http.MethodGet, "/health/live", "get-live", "Report that the process is alive", func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	register(a, http.MethodGet, "/health/ready", "get-ready", "Show whether requests can be served, and current problems", func(ctx context.Context, _ *struct{}) (*readiness, error) {
		ready := d.Ready(ctx)
		return &readiness{readyStatus(ready), ready}, nil
	})
	registerForCaller(a, http.MethodGet, "/api/stats", "get-stats", "Count the memories", func(ctx context.Context, by caller, _ *struct{}) (client.Stats, error) {
		counts, err := d.engine.Stats(ctx, by.owner)
		rates := d.engine.Metrics.Rates()
		return client.Stats{
			Counts: counts, Total: counts.Facts + counts.Turns + counts.Summaries,
			ReplacementRate: rates.Replacement, DedupRate: rates.Dedup, HitRate: rates.Hit,
			Pause: string(d.engine.CurrentPause(ctx, by.owner)),
		}, err
	})
	registerForCaller(a, http.MethodGet, "/api/jobs", "list-jobs", "List jobs that are running, waiting or parked", func(ctx context.Context, by caller, _ *struct{}) (client.Jobs, error) {
		jobs, err := d.engine.Lessons.Jobs(ctx, by.owner)
		return client.Jobs{Jobs: mapSlice(jobs, client.ViewJob)}, err
	})
	register(a, http.MethodPost, "/api/jobs/{id}/retry", "retry-job", "Try a parked job again", func(ctx context.Context, in *ByID) (*struct{}, error) {
		by, err := callerOf(ctx)
		if err != nil {
			return nil, err
		}
		return nil, d.engine.Curate.RetryJob(ctx, by.owner, in.ID)
	})
}

// readiness is the response of a readiness probe.
type readiness struct {
	Status int
	Body   client.Ready
}

// readyStatus returns the HTTP status for a state: 503 while the server shuts down, and 200 otherwise.
func readyStatus(ready client.Ready) int {
	if ready.Status != client.StatusReady {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
