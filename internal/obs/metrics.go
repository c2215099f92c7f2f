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

// Metrics counts what Loci does, on a registry of its own. A nil *Metrics counts
// nothing, so that only who looks needs one. All methods may be called at once.
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

	added, replaced, ignored atomic.Int64 // facts decided on
	injected, used           atomic.Int64 // memories put into prompts

	mu   sync.Mutex    // guards hour
	hour map[asked]int // questions of the last hour
}

// Sources are what a scrape asks. Metrics of a nil source are left out.
type Sources struct {
	Totals   func(context.Context) (memory.Counts, error) // over all owners
	Jobs     func(context.Context) (memory.Counts, error) // of the jobs alone, where that is quicker; nil: Totals says it
	Problems func(context.Context) []string               // the names of parts in trouble
	Parts    []string                                     // all names that Problems may have
	Pools    func() []Pool
	Now      func() time.Time // the store's clock
}

// Pool is a pool of connections to the database.
type Pool struct {
	Name       string
	Busy, Size int
}

// asked is what questions of a minute have in common.
type asked struct {
	model  string
	helped bool
	minute int64
}

// nobody has what is counted for nobody.
var nobody = sync.OnceValue(NewMetrics)

func (m *Metrics) or() *Metrics {
	if m == nil {
		return nobody()
	}
	return m
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
		if of.model != model {
			continue
		}
		if all += n; !of.helped {
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
