package obs

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
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
	tokenBuckets    = []float64{0, 50, 100, 200, 400, 600, 800, 1000, 1500, 2000, 4000, 8000}
)

// Metrics counts what Loci does, on a registry of its own. A nil *Metrics counts
// nothing, so that only who looks needs one. All methods may be called at once.
type Metrics struct {
	registry     *prometheus.Registry
	decisions    *prometheus.CounterVec
	recordFailed *prometheus.CounterVec
	recall       *prometheus.HistogramVec
	stages       *prometheus.HistogramVec
	coreTokens   *prometheus.HistogramVec
	degraded     *prometheus.CounterVec
	overhead     *prometheus.HistogramVec
	asked        *prometheus.CounterVec
	learnRuns    *prometheus.CounterVec
	jobs         *prometheus.CounterVec
	tokens       *prometheus.CounterVec
	cost         *prometheus.CounterVec
	chatTokens   *prometheus.CounterVec
	requests     *prometheus.HistogramVec
	upstream     *prometheus.HistogramVec
	refused      *prometheus.CounterVec
	writeWait    *prometheus.HistogramVec

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

// NewMetrics returns metrics that count from 0.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{
		hour:         map[asked]int{},
		registry:     r,
		decisions:    counters(r, "loci_decisions_total", "What became of extracted facts.", "action"),
		recordFailed: counters(r, "loci_record_failed_total", "Exchanges that could not be stored."),
		recall:       histograms(r, "loci_recall_seconds", "How long recall took.", recallBuckets),
		stages:       histograms(r, "loci_recall_stage_seconds", "How long a stage of recall took; stages overlap.", recallBuckets, "stage"),
		coreTokens:   histograms(r, "loci_core_tokens", "Tokens of the core of a prompt's block.", tokenBuckets),
		degraded:     counters(r, "loci_recall_degraded_total", "Parts of recall that were skipped.", "part"),
		asked:        counters(r, "loci_recall_model_questions_total", "Questions that a model was to help answer, by whether it did.", "model", "helped"),
		overhead:     histograms(r, "loci_first_byte_overhead_seconds", "First byte to the client less the upstream's.", overheadBuckets),
		learnRuns:    counters(r, "loci_learn_runs_total", "Runs of learning, by how they ended.", "end"),
		jobs:         counters(r, "loci_jobs_ended_total", "Attempts at jobs, by kind and how they ended.", "kind", "end"),
		tokens:       counters(r, "loci_learn_tokens_total", "Tokens of the learning model, by what it was asked for.", "purpose", "model", "side"),
		cost:         counters(r, "loci_learn_cost_total", "What the learning model cost, by the prices set.", "purpose", "model"),
		chatTokens:   counters(r, "loci_chat_tokens_total", "Tokens of chats, as far as answers count them.", "side"),
		requests:     histograms(r, "loci_http_request_seconds", "How long requests took.", requestBuckets, "method", "route", "status"),
		upstream:     histograms(r, "loci_upstream_seconds", "How long the upstream took to the headers of its answer, by its status, failed or canceled.", requestBuckets, "end"),
		refused:      counters(r, "loci_refused_total", "Requests refused, by the limit or key; memory: by the upstream, with memory in them.", "reason"),
		writeWait:    histograms(r, "loci_write_wait_seconds", "How long a write waited for its turn in the store.", overheadBuckets),
	}
	gauge(r, "memory_replacement_rate", "Of what was stored, the share that replaced something.", func() float64 { return m.Rates().Replacement })
	gauge(r, "memory_dedup_rate", "Of what was extracted, the share that was known already.", func() float64 { return m.Rates().Dedup })
	gauge(r, "retrieval_hit_rate", "Of what was put into prompts, the share that answers used.", func() float64 { return m.Rates().Hit })
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "loci_build_info", Help: "The version that runs.", ConstLabels: prometheus.Labels{"version": Version(), "goversion": runtime.Version()},
	})
	info.Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, reason := range refusals { // 0 before the first, so that its rise is seen
		m.refused.WithLabelValues(reason)
	}
	m.recordFailed.WithLabelValues()
	m.upstream.WithLabelValues("failed")
	return m
}

// nobody has what is counted for nobody.
var nobody = sync.OnceValue(NewMetrics)

func (m *Metrics) or() *Metrics {
	if m == nil {
		return nobody()
	}
	return m
}

func counters(r *prometheus.Registry, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func histograms(r *prometheus.Registry, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	r.MustRegister(h)
	return h
}

func gauge(r *prometheus.Registry, name, help string, f func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f))
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
	m = m.or()
	m.recall.WithLabelValues().Observe(took.Seconds())
	for _, d := range degraded {
		part, _, _ := strings.Cut(d, ": ")
		m.degraded.WithLabelValues(part).Inc()
	}
}

// StageEnded counts how long a stage of recall took that began then.
func (m *Metrics) StageEnded(stage string, began time.Time) {
	m.or().stages.WithLabelValues(stage).Observe(time.Since(began).Seconds())
}

// CoreGiven counts the tokens of a core that a prompt begins with.
func (m *Metrics) CoreGiven(tokens int) { m.or().coreTokens.WithLabelValues().Observe(float64(tokens)) }

// RefusedMemory is the reason of a request that the upstream refused with memory in it, and
// RefusedKey of one whose key is not Loci's.
const (
	RefusedMemory = "memory"
	RefusedKey    = "key"
)

// refusals are the known reasons of a refusal. Limits go by their settings.
var refusals = []string{RefusedMemory, RefusedKey, "limits.requests", "limits.tokens", "limits.concurrent"}

// Refused counts a refused request by its reason; "" is none.
func (m *Metrics) Refused(reason string) {
	if reason != "" {
		m.or().refused.WithLabelValues(reason).Inc()
	}
}

// WriteWaited counts how long a write waited for its turn.
func (m *Metrics) WriteWaited(wait time.Duration) {
	m.or().writeWait.WithLabelValues().Observe(wait.Seconds())
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

// methods are those that have a label of their own: clients may make up any number.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// Answered counts a request by the pattern of its path and its status, and the tokens of its chat.
func (m *Metrics) Answered(method, route string, status int, took time.Duration, input, output int64) {
	m = m.or()
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	m.chatTokens.WithLabelValues("input").Add(float64(input))
	m.chatTokens.WithLabelValues("output").Add(float64(output))
}

// UpstreamAsked counts a request to the upstream, by how it ended: a status, "failed", or
// "canceled" by the client.
func (m *Metrics) UpstreamAsked(end string, took time.Duration) {
	m.or().upstream.WithLabelValues(end).Observe(took.Seconds())
}

// RecordFailed counts an exchange that could not be stored.
func (m *Metrics) RecordFailed() { m.or().recordFailed.WithLabelValues().Inc() }

// FirstByte counts how much later than the upstream's a first byte went out.
func (m *Metrics) FirstByte(overhead time.Duration) {
	m.or().overhead.WithLabelValues().Observe(overhead.Seconds())
}

// Learned counts one run of learning by how it ended, e.g. "applied", "nothing",
// "rules", "failed".
func (m *Metrics) Learned(end string) { m.or().learnRuns.WithLabelValues(end).Inc() }

// Spent counts what one call of the learning model took.
func (m *Metrics) Spent(u memory.Usage) {
	m = m.or()
	m.tokens.WithLabelValues(u.Purpose, u.Model, "input").Add(float64(u.InputTokens))
	m.tokens.WithLabelValues(u.Purpose, u.Model, "output").Add(float64(u.OutputTokens))
	m.cost.WithLabelValues(u.Purpose, u.Model).Add(u.Cost)
}

// Decided counts what a run of learning decided.
func (m *Metrics) Decided(d MemoryDecision) {
	m = m.or()
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
	m.or().injected.Add(int64(injected))
	m.or().used.Add(int64(used))
}

// JobEnded counts one attempt at a job by how it ended: "done", "later", "retry",
// "parked" or "lost".
func (m *Metrics) JobEnded(kind memory.JobKind, end string) {
	m.or().jobs.WithLabelValues(string(kind), end).Inc()
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
	added, replaced, ignored := m.added.Load(), m.replaced.Load(), m.ignored.Load()
	return Rates{Replacement: share(replaced, replaced+added), Dedup: share(ignored, ignored+replaced+added), Hit: share(m.used.Load(), m.injected.Load())}
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
