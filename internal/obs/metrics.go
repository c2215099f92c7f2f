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

// Metrics counts events in its own registry. A nil *Metrics counts nothing. All methods are safe for
// concurrent use.
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

	added, replaced, ignored atomic.Int64 // number of facts by decision
	injected, used           atomic.Int64 // number of memories in prompts, and in answers

	mu   sync.Mutex    // guards lastHour
	hour map[asked]int // number of questions in the last hour
}

// Sources are functions that each scrape calls. A scrape omits the metrics of a nil source.
type Sources struct {
	Totals   func(context.Context) (memory.Counts, error) // counts of all owners
	Jobs     func(context.Context) (memory.Counts, error) // only the counts of jobs, if faster than Totals; nil uses Totals
	Problems func(context.Context) []string               // names of the parts with problems
	Parts    []string                                     // all names that Problems can return
	Pools    func() []Pool
	Now      func() time.Time // the store's clock
}

// Pool is the state of a pool of database connections.
type Pool struct {
	Name       string
	Busy, Size int
}

// questionKey identifies a count of questions: by model, result and minute.
type asked struct {
	model  string
	helped bool
	minute int64
}

// discarded receives the counts of a nil *Metrics.
var nobody = sync.OnceValue(NewMetrics)

func (m *Metrics) or() *Metrics {
	if m == nil {
		return nobody()
	}
	return m
}

// ObserveRecall counts a search and its skipped parts; each element of degraded is "PART: REASON".
func (m *Metrics) Recalled(took time.Duration, degraded ...string) {
	m = m.or()
	m.recall.WithLabelValues().Observe(took.Seconds())
	for _, d := range degraded {
		part, _, _ := strings.Cut(d, ": ")
		m.degraded.WithLabelValues(part).Inc()
	}
}

// ObserveStage records the duration of a search stage from its start until now.
func (m *Metrics) StageEnded(stage string, began time.Time) {
	m.or().stages.WithLabelValues(stage).Observe(time.Since(began).Seconds())
}

// ObserveCore records the number of tokens of a prompt's core.
func (m *Metrics) CoreGiven(tokens int) { m.or().coreTokens.WithLabelValues().Observe(float64(tokens)) }

// Reasons for refused requests. RefusedMemory means that the upstream refused the added memory, RefusedKey that
// the request had a wrong key.
const (
	RefusedMemory = "memory"
	RefusedKey    = "key"
)

// CountRefused counts a refused request by reason. An empty reason counts nothing.
func (m *Metrics) Refused(reason string) {
	if reason != "" {
		m.or().refused.WithLabelValues(reason).Inc()
	}
}

// ObserveWriteWait records how long a write waited for earlier writes.
func (m *Metrics) WriteWaited(wait time.Duration) {
	m.or().writeWait.WithLabelValues().Observe(wait.Seconds())
}

// CountQuestion counts a question for the embedder or the reranker; helped reports whether the model answered.
func (m *Metrics) ModelAsked(model string, helped bool, now time.Time) {
	if m == nil {
		return
	}
	m.asked.WithLabelValues(model, strconv.FormatBool(helped)).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hour[asked{model, helped, m.minute(now)}]++
}

// MissedQuestions returns the numbers of a model's unanswered questions and of all its questions in the last hour.
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

// startMinute returns the minute of a time, and deletes counts from more than an hour before.
func (m *Metrics) minute(now time.Time) int64 {
	minute := now.Unix() / 60
	maps.DeleteFunc(m.hour, func(of asked, _ int) bool { return of.minute <= minute-60 })
	return minute
}

// methods are the HTTP methods with a label of their own. Clients may send any method, so other methods share a label.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// ObserveRequest records the duration of a request by method, route and status, and the tokens of its chat.
func (m *Metrics) Answered(method, route string, status int, took time.Duration, input, output int64) {
	m = m.or()
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	m.chatTokens.WithLabelValues("input").Add(float64(input))
	m.chatTokens.WithLabelValues("output").Add(float64(output))
}

// ObserveUpstream records the duration of a request to the upstream by result: the status, "failed", or
// "canceled" by the client.
func (m *Metrics) UpstreamAsked(end string, took time.Duration) {
	m.or().upstream.WithLabelValues(end).Observe(took.Seconds())
}

// CountRecordFailure counts an exchange that could not be stored.
func (m *Metrics) RecordFailed() { m.or().recordFailed.WithLabelValues().Inc() }

// ObserveFirstByte records the delay that Loci added to the first byte of an answer.
func (m *Metrics) FirstByte(overhead time.Duration) {
	m.or().overhead.WithLabelValues().Observe(overhead.Seconds())
}

// CountLearnRun counts one run of learning by its result, such as "applied", "nothing", "rules" or "failed".
func (m *Metrics) Learned(end string) { m.or().learnRuns.WithLabelValues(end).Inc() }

// CountUsage counts the tokens and the cost of a call of the learning model.
func (m *Metrics) Spent(u memory.Usage) {
	m = m.or()
	m.tokens.WithLabelValues(u.Purpose, u.Model, "input").Add(float64(u.InputTokens))
	m.tokens.WithLabelValues(u.Purpose, u.Model, "output").Add(float64(u.OutputTokens))
	m.cost.WithLabelValues(u.Purpose, u.Model).Add(u.Cost)
}

// CountDecisions counts the decisions of a run of learning.
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

// CountRetrieved counts the memories in a prompt, and the memories that the answer used.
func (m *Metrics) Retrieved(injected, used int) {
	m.or().injected.Add(int64(injected))
	m.or().used.Add(int64(used))
}

// CountJob counts an attempt at a job by result: "done", "later", "retry", "parked" or "lost".
func (m *Metrics) JobEnded(kind memory.JobKind, end string) {
	m.or().jobs.WithLabelValues(string(kind), end).Inc()
}

// Rates are the rates in /metrics and /api/stats, each between 0 and 1.
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
