package obs

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loci-memory/loci/memory"
)

// totalsTime bounds how long a scrape waits for the store.
const totalsTime = 2 * time.Second

// Buckets of the histograms, seconds. Recall is meant to take one millisecond by words, and ends
// after 150, or after a second with a slow local model; the proxy's share of a first byte is meant
// to stay under one to five milliseconds.
var (
	recallBuckets   = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .15, .25, .4, 1}
	requestBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	overheadBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
)

// Metrics counts what Loci does, on a registry of its own. A nil *Metrics counts
// nothing, so that only who looks needs one. All methods may be called at once.
type Metrics struct {
	registry     *prometheus.Registry
	decisions    *prometheus.CounterVec
	recordFailed prometheus.Counter
	recall       prometheus.Histogram
	degraded     *prometheus.CounterVec
	overhead     prometheus.Histogram
	asked        *prometheus.CounterVec
	learnRuns    *prometheus.CounterVec
	jobs         *prometheus.CounterVec
	tokens       *prometheus.CounterVec
	cost         *prometheus.CounterVec
	requests     *prometheus.HistogramVec
	upstream     *prometheus.HistogramVec

	added, replaced, ignored atomic.Int64 // facts decided on
	injected, used           atomic.Int64 // memories put into prompts

	mu   sync.Mutex    // guards hour
	hour map[asked]int // questions of the last hour
}

// asked is what questions of a minute have in common.
type asked struct {
	model  string
	helped bool
	minute int64
}

// NewMetrics returns metrics. totals says how much there is over all owners and
// is asked at each scrape; nil leaves memory_total_count out.
func NewMetrics(totals func(context.Context) (memory.Counts, error)) *Metrics {
	m := &Metrics{
		hour:         map[asked]int{},
		registry:     prometheus.NewRegistry(),
		decisions:    counters("memory_decisions_total", "What became of extracted facts.", "action"),
		recordFailed: prometheus.NewCounter(prometheus.CounterOpts{Name: "memory_record_failed_total", Help: "Exchanges that could not be stored."}),
		recall:       prometheus.NewHistogram(prometheus.HistogramOpts{Name: "recall_seconds", Help: "How long recall took.", Buckets: recallBuckets}),
		degraded:     counters("recall_degraded_total", "Parts of recall that were skipped.", "part"),
		asked:        counters("recall_model_questions_total", "Questions that a model was to help answer, by whether it did.", "model", "helped"),
		overhead:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "proxy_first_byte_overhead_seconds", Help: "First byte to the client less the upstream's.", Buckets: overheadBuckets}),
		learnRuns:    counters("learn_runs_total", "Runs of learning, by how they ended.", "end"),
		jobs:         counters("jobs_ended_total", "Attempts at jobs, by kind and how they ended.", "kind", "end"),
		tokens:       counters("learn_tokens_total", "Tokens of the learning model, by what it was asked for.", "purpose", "model", "side"),
		requests:     histograms("http_request_seconds", "How long requests took.", "method", "route", "status"),
		upstream:     histograms("upstream_seconds", "How long the upstream took to the headers of its answer, by its status or failed.", "end"),
		cost:         counters("learn_cost_total", "What the learning model cost, by the prices set.", "purpose", "model"),
	}
	m.registry.MustRegister(m.decisions, m.recordFailed, m.recall, m.degraded, m.asked, m.overhead, m.learnRuns, m.jobs, m.tokens, m.cost, m.requests, m.upstream,
		gauge("memory_replacement_rate", "Of what was stored, the share that replaced something.", m.replacementRate),
		gauge("memory_dedup_rate", "Of what was extracted, the share that was known already.", m.dedupRate),
		gauge("retrieval_hit_rate", "Of what was put into prompts, the share that answers used.", m.hitRate),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if totals != nil {
		m.registry.MustRegister(&totalCount{totals})
	}
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: requestBuckets}, labels)
}

func gauge(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Recalled counts one recall and the parts of it that were skipped, as "part: why".
func (m *Metrics) Recalled(took time.Duration, degraded ...string) {
	if m == nil {
		return
	}
	m.recall.Observe(took.Seconds())
	for _, d := range degraded {
		part, _, _ := strings.Cut(d, ": ")
		m.degraded.WithLabelValues(part).Inc()
	}
}

// ModelAsked counts a question that the embedder or the reranker was to help answer.
func (m *Metrics) ModelAsked(model string, helped bool, now time.Time) {
	if m == nil {
		return
	}
	m.asked.WithLabelValues(model, strconv.FormatBool(helped)).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hour[asked{model, helped, m.minute(now)}]++
}

// Missed returns how many questions of the last hour a model was to help answer, and how many of
// them it did not.
func (m *Metrics) Missed(model string, now time.Time) (missed, all int) {
	if m == nil {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.minute(now)
	for of, n := range m.hour {
		if of.model == model {
			all += n
		}
		if of.model == model && !of.helped {
			missed += n
		}
	}
	return missed, all
}

// minute returns the minute of a time, and forgets what is an hour older.
func (m *Metrics) minute(now time.Time) int64 {
	minute := now.Unix() / 60
	maps.DeleteFunc(m.hour, func(of asked, _ int) bool { return of.minute <= minute-60 })
	return minute
}

// Answered counts a request by the pattern of its path and its status.
func (m *Metrics) Answered(method, route string, status int, took time.Duration) {
	if m != nil {
		m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	}
}

// UpstreamAsked counts a request to the upstream, by how it ended: a status, or "failed".
func (m *Metrics) UpstreamAsked(end string, took time.Duration) {
	if m != nil {
		m.upstream.WithLabelValues(end).Observe(took.Seconds())
	}
}

// RecordFailed counts an exchange that could not be stored.
func (m *Metrics) RecordFailed() {
	if m != nil {
		m.recordFailed.Inc()
	}
}

// FirstByte counts how much later than the upstream's a first byte went out.
func (m *Metrics) FirstByte(overhead time.Duration) {
	if m != nil {
		m.overhead.Observe(overhead.Seconds())
	}
}

// Learned counts one run of learning by how it ended, e.g. "applied", "nothing",
// "rules", "failed".
func (m *Metrics) Learned(end string) {
	if m != nil {
		m.learnRuns.WithLabelValues(end).Inc()
	}
}

// Spent counts what one call of the learning model took.
func (m *Metrics) Spent(u memory.Usage) {
	if m == nil {
		return
	}
	m.tokens.WithLabelValues(u.Purpose, u.Model, "input").Add(float64(u.InputTokens))
	m.tokens.WithLabelValues(u.Purpose, u.Model, "output").Add(float64(u.OutputTokens))
	m.cost.WithLabelValues(u.Purpose, u.Model).Add(u.Cost)
}

// Decided counts what a run of learning decided.
func (m *Metrics) Decided(d MemoryDecision) {
	if m == nil {
		return
	}
	for _, one := range d.Decisions {
		m.decisions.WithLabelValues(one.Action).Inc()
		switch {
		case one.Action == "add":
			m.added.Add(1)
		case one.Action == "replace":
			m.replaced.Add(1)
		case one.Action == "ignore" && one.Reason == Redundant:
			m.ignored.Add(1)
		}
	}
}

// Retrieved counts how many memories were put into a prompt and how many of them
// the answer used.
func (m *Metrics) Retrieved(injected, used int) {
	if m != nil {
		m.injected.Add(int64(injected))
		m.used.Add(int64(used))
	}
}

// JobEnded counts one attempt at a job by how it ended: "done", "later", "retry",
// "parked" or "lost".
func (m *Metrics) JobEnded(kind memory.JobKind, end string) {
	if m != nil {
		m.jobs.WithLabelValues(string(kind), end).Inc()
	}
}

// Rates are the shares that /metrics and /api/stats both show.
type Rates struct {
	Replacement float64 `json:"memory_replacement_rate"`
	Dedup       float64 `json:"memory_dedup_rate"`
	Hit         float64 `json:"retrieval_hit_rate"`
}

// Rates returns the shares since the start.
func (m *Metrics) Rates() Rates {
	if m == nil {
		return Rates{}
	}
	return Rates{Replacement: m.replacementRate(), Dedup: m.dedupRate(), Hit: m.hitRate()}
}

func (m *Metrics) replacementRate() float64 {
	return share(m.replaced.Load(), m.replaced.Load()+m.added.Load())
}

func (m *Metrics) dedupRate() float64 {
	return share(m.ignored.Load(), m.ignored.Load()+m.replaced.Load()+m.added.Load())
}

func (m *Metrics) hitRate() float64 { return share(m.used.Load(), m.injected.Load()) }

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// totalCount asks the store how much there is when it is scraped. A store that
// does not answer leaves the metric out of that scrape.
type totalCount struct {
	totals func(context.Context) (memory.Counts, error)
}

var totalDesc = prometheus.NewDesc("memory_total_count", "Active memories by kind, all users together. A PostgreSQL server estimates from its statistics what is too many to count.", []string{"kind"}, nil)

// Describe names the metric.
func (t *totalCount) Describe(ch chan<- *prometheus.Desc) { ch <- totalDesc }

// Collect asks and reports.
func (t *totalCount) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), totalsTime)
	defer cancel()
	if c, err := t.totals(ctx); err == nil {
		for kind, n := range map[memory.Kind]int{memory.KindFact: c.Facts, memory.KindTurn: c.Turns, memory.KindSummary: c.Summaries} {
			ch <- prometheus.MustNewConstMetric(totalDesc, prometheus.GaugeValue, float64(n), string(kind))
		}
	}
}
