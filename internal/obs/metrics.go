package obs

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Metrics counts events in its own registry. A nil *Metrics counts nothing, so callers need none. All methods
// are safe for concurrent use.
type Metrics struct {
	registry     registry
	decisions    counters
	recordFailed counters
	recall       histograms
	stages       histograms
	coreTokens   histograms
	degraded     counters
	overhead     histograms
	asked        counters
	learnRuns    counters
	jobs         counters
	tokens       counters
	cost         counters
	chatTokens   counters
	requests     histograms
	upstream     histograms
	refused      counters
	writeWait    histograms

	added, replaced, ignored atomic.Int64 // facts by decision
	injected, used           atomic.Int64 // memories put into prompts

	mu   sync.Mutex    // guards hour
	hour map[asked]int // questions in the last hour
}

// Sources are functions that a scrape calls. Metrics of a nil source are omitted.
type Sources struct {
	Totals   func(context.Context) (memory.Counts, error) // of all owners
	Jobs     func(context.Context) (memory.Counts, error) // only of the jobs, if that is faster; nil: Totals counts them
	Problems func(context.Context) []string               // names of the parts with problems
	Parts    []string                                     // all names that Problems may return
	Pools    func() []Pool
	Now      func() time.Time // the store's clock
}

// Pool is a pool of connections to the database.
type Pool struct {
	Name       string
	Busy, Size int
}

// asked is the key under which the questions of a minute are counted.
type asked struct {
	model  string
	helped bool
	minute int64
}

// nobody receives the counts of a nil *Metrics.
var nobody = sync.OnceValue(NewMetrics)

func (m *Metrics) or() *Metrics {
	if m == nil {
		return nobody()
	}
	return m
}

// Recalled counts one search and the parts of it that were skipped, as "part: why".
func (m *Metrics) Recalled(took time.Duration, degraded ...string) {
	m = m.or()
	m.recall.WithLabelValues().Observe(took.Seconds())
	for _, d := range degraded {
		part, _, _ := strings.Cut(d, ": ")
		m.degraded.WithLabelValues(part).Inc()
	}
}

// StageEnded counts the time of a search stage that began at began.
func (m *Metrics) StageEnded(stage string, began time.Time) {
	m.or().stages.WithLabelValues(stage).Observe(time.Since(began).Seconds())
}

// CoreGiven counts the tokens of the core at the beginning of a prompt.
func (m *Metrics) CoreGiven(tokens int) { m.or().coreTokens.WithLabelValues().Observe(float64(tokens)) }

// RefusedMemory is the reason of a request that the upstream refused because of the added memory. RefusedKey is
// the reason of a request whose key is not Loci's.
const (
	RefusedMemory = "memory"
	RefusedKey    = "key"
)

// Refused counts a refused request by its reason; "" counts nothing.
func (m *Metrics) Refused(reason string) {
	if reason != "" {
		m.or().refused.WithLabelValues(reason).Inc()
	}
}

// WriteWaited counts the time that a write waited for its turn.
func (m *Metrics) WriteWaited(wait time.Duration) {
	m.or().writeWait.WithLabelValues().Observe(wait.Seconds())
}

// ModelAsked counts a question for which the embedder or the reranker was asked.
func (m *Metrics) ModelAsked(model string, helped bool, now time.Time) {
	if m == nil {
		return
	}
	m.asked.WithLabelValues(model, strconv.FormatBool(helped)).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hour[asked{model, helped, m.minute(now)}]++
}

// Missed returns for how many questions of the last hour a model was asked, and for how many of them it failed.
func (m *Metrics) Missed(model string, now time.Time) (missed, all int) {
	if m == nil {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.minute(now)
	for of, n := range m.hour {
		if of.model != model {
			continue
		}
		if all += n; !of.helped {
			missed += n
		}
	}
	return missed, all
}

// minute returns the minute of a time, and deletes counts that are more than an hour older.
func (m *Metrics) minute(now time.Time) int64 {
	minute := now.Unix() / 60
	maps.DeleteFunc(m.hour, func(of asked, _ int) bool { return of.minute <= minute-60 })
	return minute
}

// methods are the HTTP methods with their own label, because clients may send any other.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// Answered counts a request by route and status, and the tokens of its chat.
func (m *Metrics) Answered(method, route string, status int, took time.Duration, input, output int64) {
	m = m.or()
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	m.chatTokens.WithLabelValues("input").Add(float64(input))
	m.chatTokens.WithLabelValues("output").Add(float64(output))
}

// UpstreamAsked counts a request to the upstream by its result: a status, "failed", or "canceled" by the
// client.
func (m *Metrics) UpstreamAsked(end string, took time.Duration) {
	m.or().upstream.WithLabelValues(end).Observe(took.Seconds())
}

// RecordFailed counts an exchange that could not be stored.
func (m *Metrics) RecordFailed() { m.or().recordFailed.WithLabelValues().Inc() }

// FirstByte counts the delay that Loci added to the first byte.
func (m *Metrics) FirstByte(overhead time.Duration) {
	m.or().overhead.WithLabelValues().Observe(overhead.Seconds())
}

// Learned counts one run of learning by its result, such as "applied", "nothing", "rules" or "failed".
func (m *Metrics) Learned(end string) { m.or().learnRuns.WithLabelValues(end).Inc() }

// Spent counts the tokens and the cost of one call of the learning model.
func (m *Metrics) Spent(u memory.Usage) {
	m = m.or()
	m.tokens.WithLabelValues(u.Purpose, u.Model, "input").Add(float64(u.InputTokens))
	m.tokens.WithLabelValues(u.Purpose, u.Model, "output").Add(float64(u.OutputTokens))
	m.cost.WithLabelValues(u.Purpose, u.Model).Add(u.Cost)
}

// Decided counts the decisions of a run of learning.
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

// Retrieved counts the memories in a prompt, and those that the answer used.
func (m *Metrics) Retrieved(injected, used int) {
	m.or().injected.Add(int64(injected))
	m.or().used.Add(int64(used))
}

// JobEnded counts one attempt at a job by its result: "done", "later", "retry", "parked" or "lost".
func (m *Metrics) JobEnded(kind memory.JobKind, end string) {
	m.or().jobs.WithLabelValues(string(kind), end).Inc()
}

// Rates are the rates that /metrics and /api/stats show.
type Rates struct {
	Replacement float64 `json:"memory_replacement_rate"`
	Dedup       float64 `json:"memory_dedup_rate"`
	Hit         float64 `json:"retrieval_hit_rate"`
}

// Rates returns the rates since the start of the process.
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
