package obs

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci/memory"
)

// Sources are what a scrape asks.
type Sources struct {
	Totals   func(context.Context) (memory.Counts, error) // over all owners
	Jobs     func(context.Context) (memory.Counts, error) // of the jobs alone, which is quicker
	Problems func(context.Context) []string               // the names of parts in trouble
	Parts    []string                                     // all names that Problems may have
	Pools    func() []Pool                                // nil: there are none
	Now      func() time.Time                             // the store's clock
}

// Pool is a pool of connections to the database.
type Pool struct {
	Name       string
	Busy, Size int
}

// Watch has each scrape ask the sources. It is called at most once.
func (m *Metrics) Watch(s Sources) {
	m.registry.MustRegister(&watcher{s})
}

// watcher asks its sources when it is scraped. A store that does not answer leaves its metrics
// out of that scrape.
type watcher struct{ Sources }

// What a watcher reports.
var (
	totalDesc   = prometheus.NewDesc("memory_total_count", "Active memories by kind, all users together.", []string{"kind"}, nil)
	jobsDesc    = prometheus.NewDesc("loci_jobs", "Jobs in the queue: queued, or parked after too many failures.", []string{"state"}, nil)
	oldestDesc  = prometheus.NewDesc("loci_oldest_job_seconds", "How long the oldest job that is due has waited.", nil, nil)
	problemDesc = prometheus.NewDesc("loci_problem", "Whether a part is in trouble: 1, or 0.", []string{"part"}, nil)
	poolDesc    = prometheus.NewDesc("loci_store_connections", "Connections to the database, by pool: busy, or size.", []string{"pool", "of"}, nil)
)

// Describe names the metrics.
func (w *watcher) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{totalDesc, jobsDesc, oldestDesc, problemDesc, poolDesc} {
		ch <- d
	}
}

// Collect asks and reports.
func (w *watcher) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), totalsTime)
	defer cancel()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if n, err := w.Jobs(ctx); err == nil {
		send(jobsDesc, float64(n.JobsQueued), string(memory.JobQueued))
		send(jobsDesc, float64(n.JobsParked), string(memory.JobParked))
		oldest := 0.0
		if !n.JobsDue.IsZero() {
			oldest = max(0, w.Now().Sub(n.JobsDue).Seconds())
		}
		send(oldestDesc, oldest)
	}
	if n, err := w.Totals(ctx); err == nil {
		send(totalDesc, float64(n.Facts), string(memory.KindFact))
		send(totalDesc, float64(n.Turns), string(memory.KindTurn))
		send(totalDesc, float64(n.Summaries), string(memory.KindSummary))
	}
	in := w.Problems(ctx)
	for _, part := range w.Parts {
		wrong := 0.0
		if slices.Contains(in, part) {
			wrong = 1
		}
		send(problemDesc, wrong, part)
	}
	if w.Pools != nil {
		for _, p := range w.Pools() {
			send(poolDesc, float64(p.Busy), p.Name, "busy")
			send(poolDesc, float64(p.Size), p.Name, "size")
		}
	}
}
