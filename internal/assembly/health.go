package assembly

import (
	"context"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/recall"
)

// healthTime bounds how long a health check waits for the store.
const healthTime = 2 * time.Second

// health says how the server is. It never holds a key.
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

// readyTime bounds how long a readiness check waits for the store: less than a probe's second.
const readyTime = 500 * time.Millisecond

// ready says whether this server takes requests. A store that is away is no reason not to: chats go
// on without it, and another server would do no better.
func (l *Loci) ready(ctx context.Context) client.Ready {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	is := client.Ready{Status: client.StatusReady, Problems: []string{}}
	if l.draining.Load() {
		is.Status = client.StatusDraining
	}
	if l.engine.Ping(ctx) != nil {
		is.Problems = append(is.Problems, "store")
	}
	if l.chat.UpstreamFails() {
		is.Problems = append(is.Problems, "upstream")
	}
	is.Problems = append(is.Problems, l.looked(ctx)...)
	return is
}

// lookEvery is how often readiness checks write to the disk and count jobs: anybody may ask.
const lookEvery = 5 * time.Second

// looked returns which of disk and jobs is in trouble. Who asks while another looks gets what was
// found before.
func (l *Loci) looked(ctx context.Context) (found []string) {
	now := l.engine.Now()
	l.looks.Lock()
	due := now.Sub(l.lookedAt).Abs() >= lookEvery // the clock may go back
	if due {
		l.lookedAt = now
	}
	last := l.found
	l.looks.Unlock()
	if !due {
		return last
	}
	if dir, err := databaseDir(l.config); err == nil && !l.config.Store.Server() && l.config.Store.Kind() != "memory" && disk.Probe(dir) != nil {
		found = append(found, "disk")
	}
	if n, err := l.backlog(ctx); err == nil && n.JobsParked > 0 {
		found = append(found, "jobs")
	}
	l.looks.Lock()
	defer l.looks.Unlock()
	l.found = found
	return found
}

// Drain has the server say that it is about to stop: see [client.Ready].
func (l *Loci) Drain() { l.draining.Store(true) }

// healthFor returns as much of the health as whoever asks may know. Addresses and paths,
// which the store's errors name as well, are for admins.
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
