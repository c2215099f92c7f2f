package assembly

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/tracing"
	"github.com/loci-memory/loci/memory"
)

// problemParts are the names of parts that [Loci.readyStatus] can report.
var problemParts = []string{"store", "upstream", "disk", "jobs"}

// registerMetricSources registers the sources that each scrape of the metrics reads.
func (l *Loci) registerMetricSources(metrics *obs.Metrics, opts Options) {
	s := obs.Sources{
		Totals: l.engine.Store.Totals, Jobs: l.readiness.countJobs, Parts: problemParts, Now: opts.Now,
		Problems: func(ctx context.Context) []string { return l.readyStatus(ctx).Problems },
	}
	if l.database != nil {
		s.Pools = l.database.Pools
	}
	metrics.Watch(s)
}

// requestObserver returns a function that counts and logs an answered request.
func requestObserver(metrics *obs.Metrics, log *slog.Logger) func(httpx.AccessEntry) {
	return func(a httpx.AccessEntry) {
		metrics.ObserveRequest(a.Method, a.Route, a.Status, a.Duration, a.InputTokens, a.OutputTokens)
		metrics.CountRefused(a.RefusedBy)
		logAccess(log, a)
	}
}

// logAccess logs a request with ids and sizes, without text. Probes are logged at level debug.
func logAccess(log *slog.Logger, a httpx.AccessEntry) {
	level := slog.LevelInfo
	if slices.Contains(httpx.DefaultPublicPaths, a.Route) || a.Route == "/metrics" || strings.HasPrefix(a.Route, "/assets/") {
		level = slog.LevelDebug
	}
	log.LogAttrs(context.Background(), level, "request", slog.String("request", a.ID), slog.String("client_request", a.ClientRequestID), slog.String("user", a.User), slog.String("method", a.Method), slog.String("route", a.Route),
		slog.Int("status", a.Status), slog.Int64("ms", a.Duration.Milliseconds()), slog.Int64("upstream_ms", a.UpstreamTime.Milliseconds()), slog.Int64("input", a.InputTokens), slog.Int64("output", a.OutputTokens))
}

// traceLearning returns a handler that calls learn within a span for each learning job.
func traceLearning(tracer *tracing.Tracer, learn jobs.Handler) jobs.Handler {
	return func(ctx context.Context, job memory.Job) (jobs.Completion, error) {
		ctx, end := tracer.StartLearning(ctx, job)
		how, err := learn(ctx, job)
		end(string(how), err)
		return how, err
	}
}

var _ lessons.TrialModel = tracedLearner{}

// tracedLearner is a learner that adds a span to each model call of a traced job.
type tracedLearner struct {
	*models.Learner
	tracer *tracing.Tracer
}

// Complete implements [memory.LLM].
func (l tracedLearner) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	return l.tracer.TraceCompletion(ctx, p, l.Learner.Complete)
}
