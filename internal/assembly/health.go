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

// healthTime is the timeout of a health check for the store.
const healthTime = 2 * time.Second

// health returns the state of the server. It never contains a key.
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

// readyTime is the timeout of a readiness check for the store. It is less than a probe's usual second.
const readyTime = 500 * time.Millisecond

// ready reports whether this server accepts requests. It does even if the store is unavailable: chats
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

// readinessInterval is the minimum interval at which readiness checks test the disk and count jobs.
const readinessInterval = 5 * time.Second

// readiness is the state of the readiness check. It caches the last result for disk and jobs.
type readiness struct {
	draining atomic.Bool
	dir      string // folder of the store; "" if the store writes to no folder
	backlog  func(context.Context) (memory.Counts, error)

	mu    sync.Mutex // guards the fields below
	at    time.Time
	found []string
}

// problems returns the problems of disk and jobs. While another call checks them, it returns the previous
// result.
func (r *readiness) problems(ctx context.Context, now time.Time) (found []string) {
	r.mu.Lock()
	due, last := now.Sub(r.at).Abs() >= readinessInterval, r.found // Abs: the clock may be set back
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

// Drain marks the server as about to stop: see [client.Ready].
func (l *Loci) Drain() { l.checks.draining.Store(true) }

// healthFor returns the part of the health that the caller may see. Addresses, paths and the store's
// errors are only for admins.
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
