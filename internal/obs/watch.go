//go:build !demo

package obs

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci/memory"
)

// totalsTimeout is the maximum time that a scrape waits for the store.
const totalsTimeout = 2 * time.Second

// Watch makes each scrape read the sources. Call it at most once.
func (m *Metrics) Watch(s Sources) {
	m.registry.MustRegister(&watcher{s})
}

// watcher reads the sources at each scrape. If the store does not respond, the scrape omits the store's metrics.
type watcher struct{ Sources }

// Descriptions of the metrics of a watcher.
var (
	memoryTotalDesc = prometheus.NewDesc("memory_total_count", "Active memories by kind, all users together.", []string{"kind"}, nil)
	jobsDesc        = prometheus.NewDesc("loci_jobs", "Jobs in the queue: queued, or parked after too many failures.", []string{"state"}, nil)
	oldestJobDesc   = prometheus.NewDesc("loci_oldest_job_seconds", "How long the oldest job that is due has waited.", nil, nil)
	problemDesc     = prometheus.NewDesc("loci_problem", "1 if the part has a problem, otherwise 0.", []string{"part"}, nil)
	poolDesc        = prometheus.NewDesc("loci_store_connections", "Connections to the database, by pool: busy, or size.", []string{"pool", "of"}, nil)
)

// Describe implements [prometheus.Collector].
func (w *watcher) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{memoryTotalDesc, jobsDesc, oldestJobDesc, problemDesc, poolDesc} {
		ch <- d
	}
}

// Collect reads the sources and reports the metrics.
func (w *watcher) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), totalsTimeout)
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
		send(oldestJobDesc, oldest)
	}
	if n, err := w.Totals(ctx); err == nil {
		send(memoryTotalDesc, float64(n.Facts), string(memory.KindFact))
		send(memoryTotalDesc, float64(n.Turns), string(memory.KindTurn))
		send(memoryTotalDesc, float64(n.Summaries), string(memory.KindSummary))
	}
	withProblems := w.Problems(ctx)
	for _, part := range w.Parts {
		problemValue := 0.0
		if slices.Contains(withProblems, part) {
			problemValue = 1
		}
		send(problemDesc, problemValue, part)
	}
	if w.Pools != nil {
		for _, p := range w.Pools() {
			send(poolDesc, float64(p.Busy), p.Name, "busy")
			send(poolDesc, float64(p.Size), p.Name, "size")
		}
	}
}
