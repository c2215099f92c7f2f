package assembly

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/tracing"
	"github.com/loci-memory/loci/memory"
)

// problemParts are the names of parts that [Loci.readyStatus] can report.
var problems = []string{"store", "upstream", "disk", "jobs"}

// registerSources registers the sources that each scrape of the metrics reads.
func (l *Loci) watch(metrics *obs.Metrics, opts Options) {
	s := obs.Sources{
		Totals: l.engine.Store.Totals, Jobs: l.checks.backlog, Parts: problems, Now: opts.Now,
		Problems: func(ctx context.Context) []string { return l.ready(ctx).Problems },
	}
	if l.database != nil {
		s.Pools = l.database.Pools
	}
	metrics.Watch(s)
}

// onAnswered returns a function that counts and logs an answered request.
func answered(metrics *obs.Metrics, log *slog.Logger) func(httpx.Access) {
	return func(a httpx.Access) {
		metrics.Answered(a.Method, a.Route, a.Status, a.Took, a.Input, a.Output)
		metrics.Refused(a.Refused)
		logAccess(log, a)
	}
}

// logAccess logs a request with ids and sizes, without text. Probes are logged at level debug.
func logAccess(log *slog.Logger, a httpx.Access) {
	level := slog.LevelInfo
	if slices.Contains(httpx.DefaultOpen, a.Route) || a.Route == "/metrics" || strings.HasPrefix(a.Route, "/assets/") {
		level = slog.LevelDebug
	}
	log.LogAttrs(context.Background(), level, "request", slog.String("request", a.ID), slog.String("client_request", a.Client), slog.String("user", a.User), slog.String("method", a.Method), slog.String("route", a.Route),
		slog.Int("status", a.Status), slog.Int64("ms", a.Took.Milliseconds()), slog.Int64("upstream_ms", a.Upstream.Milliseconds()), slog.Int64("input", a.Input), slog.Int64("output", a.Output))
}

// traceLearning adds a span to each learning job.
func traceLearning(tracer *tracing.Tracer, learn jobs.Handler) jobs.Handler {
	return func(ctx context.Context, job memory.Job) (jobs.End, error) {
		ctx, end := tracer.Learn(ctx, job)
		how, err := learn(ctx, job)
		end(string(how), err)
		return how, err
	}
}

// tracedLearner is a learner that adds a span to each model call of a traced job.
type tracedLearner struct {
	*models.Learner
	tracer *tracing.Tracer
}

// Complete implements [memory.LLM].
func (l tracedLearner) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	return l.tracer.Complete(ctx, p, l.Learner.Complete)
}
