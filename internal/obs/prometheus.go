//go:build !demo

package obs

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type (
	registry   = *prometheus.Registry
	counters   = *prometheus.CounterVec
	histograms = *prometheus.HistogramVec
)

// Buckets of the histograms, in seconds or tokens. Recall by words should take one millisecond; recall ends
// after 150 milliseconds, or after a second with a slow local model. The proxy should delay the first byte by
// at most five milliseconds.
var (
	recallBuckets   = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .15, .25, .4, 1}
	requestBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	overheadBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
	tokenBuckets    = []float64{0, 50, 100, 200, 400, 600, 800, 1000, 1500, 2000, 4000, 8000}
)

// refusalReasons are the reasons for refusing a request. The reason of a limit is the name of its setting.
var refusalReasons = []string{RefusedMemory, RefusedKey, "limits.requests", "limits.tokens", "limits.concurrent"}

// NewMetrics returns metrics with all counts at 0.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{
		lastHour:         map[questionKey]int{},
		registry:         r,
		decisions:        newCounters(r, "loci_decisions_total", "Extracted facts, by the action taken.", "action"),
		recordFailures:   newCounters(r, "loci_record_failed_total", "Exchanges that could not be stored."),
		recallSeconds:    newHistograms(r, "loci_recall_seconds", "How long recall took.", recallBuckets),
		stageSeconds:     newHistograms(r, "loci_recall_stage_seconds", "How long a stage of recall took; stages overlap.", recallBuckets, "stage"),
		coreTokens:       newHistograms(r, "loci_core_tokens", "Tokens of the core of a prompt's block.", tokenBuckets),
		skippedParts:     newCounters(r, "loci_recall_degraded_total", "Parts of recall that were skipped.", "part"),
		modelQuestions:   newCounters(r, "loci_recall_model_questions_total", "Questions for the embedder or the reranker, by whether the model answered (helped).", "model", "helped"),
		firstByteSeconds: newHistograms(r, "loci_first_byte_overhead_seconds", "Delay that Loci added to the first byte.", overheadBuckets),
		learnRuns:        newCounters(r, "loci_learn_runs_total", "Runs of learning, by result.", "end"),
		jobAttempts:      newCounters(r, "loci_jobs_ended_total", "Attempts at jobs, by kind and result.", "kind", "end"),
		learnTokens:      newCounters(r, "loci_learn_tokens_total", "Tokens of the learning model, by purpose, model and side (input or output).", "purpose", "model", "side"),
		learnCost:        newCounters(r, "loci_learn_cost_total", "Cost of the learning model at the configured prices.", "purpose", "model"),
		chatTokens:       newCounters(r, "loci_chat_tokens_total", "Tokens of chats, as the upstream reports them.", "side"),
		requestSeconds:   newHistograms(r, "loci_http_request_seconds", "How long requests took.", requestBuckets, "method", "route", "status"),
		upstreamSeconds:  newHistograms(r, "loci_upstream_seconds", "How long the upstream took to send response headers, by status, or failed or canceled.", requestBuckets, "end"),
		refusedRequests:  newCounters(r, "loci_refused_total", "Refused requests, by limit; key: wrong key; memory: the upstream refused a request with memory.", "reason"),
		writeWaitSeconds: newHistograms(r, "loci_write_wait_seconds", "How long a write waited for its turn in the store.", overheadBuckets),
	}
	registerGauge(r, "memory_replacement_rate", "Share of the stored facts that replaced another fact.", func() float64 { return m.Rates().Replacement })
	registerGauge(r, "memory_dedup_rate", "Share of the extracted facts that were already stored.", func() float64 { return m.Rates().Dedup })
	registerGauge(r, "retrieval_hit_rate", "Share of the memories in prompts that answers used.", func() float64 { return m.Rates().Hit })
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "loci_build_info", Help: "The running version.", ConstLabels: prometheus.Labels{"version": Version(), "goversion": runtime.Version()},
	})
	info.Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, reason := range refusalReasons { // begin at 0, so that Prometheus sees the first increase
		m.refusedRequests.WithLabelValues(reason)
	}
	m.recordFailures.WithLabelValues()
	m.upstreamSeconds.WithLabelValues("failed")
	return m
}

func newCounters(r *prometheus.Registry, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func newHistograms(r *prometheus.Registry, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	r.MustRegister(h)
	return h
}

func registerGauge(r *prometheus.Registry, name, help string, value func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
