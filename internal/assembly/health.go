package assembly

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// healthTimeout is the maximum time that a health check waits for the store.
const healthTimeout = 2 * time.Second

// health returns the state of the server, which never contains a key.
func (l *Loci) health(ctx context.Context) client.Health {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	c := l.currentConfig()
	h := client.Health{
		Status: "ok", Version: obs.Version(), Profile: l.config.Profile, Store: l.config.Store.Kind(),
		Embedder: c.Embedder, Reranker: l.config.Reranker, Upstream: l.config.Upstream.RedactedURL(),
		Search: l.searchDescription(), Vault: l.vault.Dir(),
		Models: []string{responder.Name}, TopK: l.engine.Opts.DefaultTopK(true), Threshold: c.Recall.Threshold,
	}
	if h.Threshold < 0 {
		h.Threshold = recall.DefaultMinRelevance
	}
	is, _ := l.embedderChoice.Current()
	h.Learner, h.Advice = l.LearnerName(), is.Suggestion
	if model := l.learner.ChosenModel(); model != "" {
		h.Models = append(h.Models, model)
	}
	for _, w := range l.doctor.Warnings() {
		h.Warnings = append(h.Warnings, w.Problem+"; "+w.Fix)
	}
	h.StrictModels = l.proxyHandler.StrictModels()
	if err := l.engine.Ping(ctx); err != nil {
		h.Status = "store: " + err.Error()
	}
	return h
}

// readyTimeout is the maximum time that a readiness check waits for the store: probes usually wait a second.
const readyTimeout = 500 * time.Millisecond

// readyStatus reports whether this server accepts requests. A server with an unavailable store is ready: chats
// work without memory, and another server would have the same problem.
func (l *Loci) readyStatus(ctx context.Context) client.Ready {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ready := client.Ready{Status: client.StatusReady, Problems: []string{}}
	if l.readiness.draining.Load() {
		ready.Status = client.StatusDraining
	}
	if l.engine.Ping(ctx) != nil {
		ready.Problems = append(ready.Problems, "store")
	}
	if l.proxyHandler.UpstreamFails() {
		ready.Problems = append(ready.Problems, "upstream")
	}
	ready.Problems = append(ready.Problems, l.readiness.checkProblems(ctx, l.engine.Now())...)
	return ready
}

// readinessInterval is the minimum interval between tests of the disk and of the jobs.
const readinessInterval = 5 * time.Second

// readiness is the state of the readiness check, with a cache of the last result for disk and jobs.
type readiness struct {
	draining  atomic.Bool
	storeDir  string                                       // folder of the store; empty if the store writes to no folder
	countJobs func(context.Context) (memory.Counts, error) // counts the jobs of all users

	mu           sync.Mutex // guards the fields below
	checkedAt    time.Time  // time of the last check
	lastProblems []string   // parts with a problem at checkedAt: "disk", "jobs"
}

// checkProblems returns "disk" if the disk has a problem, and "jobs" if jobs are parked. While another call
// checks, and until readinessInterval after a check, it returns the previous result.
func (r *readiness) checkProblems(ctx context.Context, now time.Time) (problems []string) {
	r.mu.Lock()
	due, last := now.Sub(r.checkedAt).Abs() >= readinessInterval, r.lastProblems // the absolute value, because the clock may go back
	if due {
		r.checkedAt = now
	}
	r.mu.Unlock()
	if !due {
		return last
	}
	if r.storeDir != "" && disk.ProbeWrite(r.storeDir) != nil {
		problems = append(problems, "disk")
	}
	if n, err := r.countJobs(ctx); err == nil && n.JobsParked > 0 {
		problems = append(problems, "jobs")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastProblems = problems
	return problems
}

// Drain makes readiness checks report that the server will stop: see [client.Ready].
func (l *Loci) Drain() { l.readiness.draining.Store(true) }

// visibleHealth returns the part of the health report that the requesting client may see. Only admins see
// addresses, paths and errors of the store.
func (l *Loci) visibleHealth(ctx context.Context) client.Health {
	h := l.health(ctx)
	role := httpx.IdentityOf(ctx).Role
	if role == httpx.RoleAdmin {
		return h
	}
	h.Vault = ""
	if h.Upstream != "" {
		h.Upstream = "set"
	}
	if h.Status != "ok" {
		h.Status = "store: unavailable"
	}
	if role == "" {
		return client.Health{Status: h.Status, Version: h.Version}
	}
	return h
}
