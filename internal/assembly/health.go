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

// healthTimeout is the time limit of a health check for the store.
const healthTime = 2 * time.Second

// health returns the state of the server, which never contains a key.
func (l *Loci) health(ctx context.Context) client.Health {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	c := l.settled()
	h := client.Health{
		Status: "ok", Version: obs.Version(), Profile: l.config.Profile, Store: l.config.Store.Kind(),
		Embedder: c.Embedder, Reranker: l.config.Reranker, Upstream: l.config.Upstream.Shown(),
		Search: l.searchedBy(), Vault: l.vault.Dir(),
		Models: []string{responder.Name}, TopK: l.engine.Opts.Most(true), Threshold: c.Recall.Threshold,
	}
	if h.Threshold < 0 {
		h.Threshold = recall.DefaultThreshold
	}
	is, _ := l.embeds.Now()
	h.Learns, h.Better = l.Learns(), is.Better
	if model := l.learner.Chosen(); model != "" {
		h.Models = append(h.Models, model)
	}
	for _, w := range l.doctor.Warnings() {
		h.Warnings = append(h.Warnings, w.What+"; "+w.Do)
	}
	h.StrictModels = l.chat.StrictModels()
	if err := l.engine.Ping(ctx); err != nil {
		h.Status = "store: " + err.Error()
	}
	return h
}

// readyTimeout is the time limit of a readiness check for the store, less than the usual second of a probe.
const readyTime = 500 * time.Millisecond

// readyStatus reports whether this server accepts requests. A server with an unavailable store is ready: chats
// work without memory, and another server would have the same problem.
func (l *Loci) ready(ctx context.Context) client.Ready {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	is := client.Ready{Status: client.StatusReady, Problems: []string{}}
	if l.checks.draining.Load() {
		is.Status = client.StatusDraining
	}
	if l.engine.Ping(ctx) != nil {
		is.Problems = append(is.Problems, "store")
	}
	if l.chat.UpstreamFails() {
		is.Problems = append(is.Problems, "upstream")
	}
	is.Problems = append(is.Problems, l.checks.problems(ctx, l.engine.Now())...)
	return is
}

// readinessInterval is the minimum interval between tests of the disk and of the jobs.
const readinessInterval = 5 * time.Second

// readiness is the state of the readiness check, with a cache of the last result for disk and jobs.
type readiness struct {
	draining atomic.Bool
	dir      string // folder of the store; empty if the store writes to no folder
	backlog  func(context.Context) (memory.Counts, error)

	mu    sync.Mutex // guards the fields below
	at    time.Time  // time of the last check
	found []string   // names of the parts with problems
}

// checkProblems returns the names of disk and jobs if they have problems. While another call checks, it
// returns the previous result.
func (r *readiness) problems(ctx context.Context, now time.Time) (found []string) {
	r.mu.Lock()
	due, last := now.Sub(r.at).Abs() >= readinessInterval, r.found // the absolute value, because the clock may go back
	if due {
		r.at = now
	}
	r.mu.Unlock()
	if !due {
		return last
	}
	if r.dir != "" && disk.Probe(r.dir) != nil {
		found = append(found, "disk")
	}
	if n, err := r.backlog(ctx); err == nil && n.JobsParked > 0 {
		found = append(found, "jobs")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = found
	return found
}

// Drain makes readiness checks report that the server will stop: see [client.Ready].
func (l *Loci) Drain() { l.checks.draining.Store(true) }

// visibleHealth returns the part of the health that the requesting client may see. Only admins see addresses,
// paths and errors of the store.
func (l *Loci) healthFor(ctx context.Context) client.Health {
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
