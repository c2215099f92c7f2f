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
	registry         registry
	decisions        counters
	recordFailures   counters
	recallSeconds    histograms
	stageSeconds     histograms
	coreTokens       histograms
	skippedParts     counters
	firstByteSeconds histograms
	modelQuestions   counters
	learnRuns        counters
	jobAttempts      counters
	learnTokens      counters
	learnCost        counters
	chatTokens       counters
	requestSeconds   histograms
	upstreamSeconds  histograms
	refusedRequests  counters
	writeWaitSeconds histograms

	addedFacts, replacedFacts, ignoredFacts atomic.Int64 // number of facts by decision
	injectedMemories, usedMemories          atomic.Int64 // number of memories in prompts, and in answers

	mu       sync.Mutex          // guards lastHour
	lastHour map[questionKey]int // number of questions in the last hour, by model, result and minute
}

// Sources are functions that each scrape calls. Only Pools may be nil: a scrape then omits its metrics.
type Sources struct {
	Totals   func(context.Context) (memory.Counts, error) // counts of all owners
	Jobs     func(context.Context) (memory.Counts, error) // counts of all owners' jobs; other counts are ignored
	Problems func(context.Context) []string               // names of the parts with problems
	Parts    []string                                     // all names that Problems can return
	Pools    func() []Pool                                // pools of database connections
	Now      func() time.Time                             // the store's clock
}

// Pool is the state of a pool of database connections.
type Pool struct {
	Name       string
	Busy, Size int // number of connections in use, and the maximum number of connections
}

// questionKey identifies a count of questions.
type questionKey struct {
	model    string // "embedder" or "reranker"
	answered bool   // whether the model answered
	minute   int64  // minutes since 1970
}

// discardedMetrics returns the Metrics that receive the counts of a nil *Metrics.
var discardedMetrics = sync.OnceValue(NewMetrics)

func (m *Metrics) orDiscarded() *Metrics {
	if m == nil {
		return discardedMetrics()
	}
	return m
}

// ObserveRecall counts a search and its skipped parts; each element of skippedParts is "PART: REASON".
func (m *Metrics) ObserveRecall(duration time.Duration, skippedParts ...string) {
	m = m.orDiscarded()
	m.recallSeconds.WithLabelValues().Observe(duration.Seconds())
	for _, d := range skippedParts {
		part, _, _ := strings.Cut(d, ": ")
		m.skippedParts.WithLabelValues(part).Inc()
	}
}

// ObserveStage records the duration of a search stage from its start until now.
func (m *Metrics) ObserveStage(stage string, startedAt time.Time) {
	m.orDiscarded().stageSeconds.WithLabelValues(stage).Observe(time.Since(startedAt).Seconds())
}

// ObserveCore records the number of tokens of a prompt's core.
func (m *Metrics) ObserveCore(tokens int) {
	m.orDiscarded().coreTokens.WithLabelValues().Observe(float64(tokens))
}

// Reasons for refusing a request, as label values. RefusedMemory means that the upstream refused the request
// with the added memory, RefusedKey that the request had a wrong key.
const (
	RefusedMemory = "memory"
	RefusedKey    = "key"
)

// CountRefused counts a refused request by reason. An empty reason counts nothing.
func (m *Metrics) CountRefused(reason string) {
	if reason != "" {
		m.orDiscarded().refusedRequests.WithLabelValues(reason).Inc()
	}
}

// ObserveWriteWait records how long a write waited for earlier writes.
func (m *Metrics) ObserveWriteWait(wait time.Duration) {
	m.orDiscarded().writeWaitSeconds.WithLabelValues().Observe(wait.Seconds())
}

// CountQuestion counts a question for the embedder or the reranker; answered reports whether the model answered.
func (m *Metrics) CountQuestion(model string, answered bool, now time.Time) {
	if m == nil {
		return
	}
	m.modelQuestions.WithLabelValues(model, strconv.FormatBool(answered)).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastHour[questionKey{model, answered, m.startMinute(now)}]++
}

// MissedQuestions returns, for the last hour, the number of questions that a model missed, and of all questions.
func (m *Metrics) MissedQuestions(model string, now time.Time) (missed, total int) {
	if m == nil {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.startMinute(now)
	for key, n := range m.lastHour {
		if key.model != model {
			continue
		}
		if total += n; !key.answered {
			missed += n
		}
	}
	return missed, total
}

// startMinute returns now in minutes since 1970, and deletes counts that are more than an hour old.
func (m *Metrics) startMinute(now time.Time) int64 {
	minute := now.Unix() / 60
	maps.DeleteFunc(m.lastHour, func(key questionKey, _ int) bool { return key.minute <= minute-60 })
	return minute
}

// labeledMethods are the HTTP methods with their own label value; all other methods share the value "other".
var labeledMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// ObserveRequest records the duration of a request by method, route and status, and the tokens of its chat.
func (m *Metrics) ObserveRequest(method, route string, status int, duration time.Duration, inputTokens, outputTokens int64) {
	m = m.orDiscarded()
	if !slices.Contains(labeledMethods, method) {
		method = "other"
	}
	m.requestSeconds.WithLabelValues(method, route, strconv.Itoa(status)).Observe(duration.Seconds())
	m.chatTokens.WithLabelValues("input").Add(float64(inputTokens))
	m.chatTokens.WithLabelValues("output").Add(float64(outputTokens))
}

// ObserveUpstream records the duration of a request to the upstream by result: the status, "failed", or
// "canceled" by the client.
func (m *Metrics) ObserveUpstream(result string, duration time.Duration) {
	m.orDiscarded().upstreamSeconds.WithLabelValues(result).Observe(duration.Seconds())
}

// CountRecordFailure counts an exchange that could not be stored.
func (m *Metrics) CountRecordFailure() { m.orDiscarded().recordFailures.WithLabelValues().Inc() }

// ObserveFirstByte records the delay that Loci added to the first byte of an answer.
func (m *Metrics) ObserveFirstByte(overhead time.Duration) {
	m.orDiscarded().firstByteSeconds.WithLabelValues().Observe(overhead.Seconds())
}

// CountLearnRun counts one run of learning by its result, such as "applied", "nothing", "rules" or "failed".
func (m *Metrics) CountLearnRun(result string) {
	m.orDiscarded().learnRuns.WithLabelValues(result).Inc()
}

// CountUsage counts the tokens and the cost of a call of the learning model.
func (m *Metrics) CountUsage(u memory.Usage) {
	m = m.orDiscarded()
	m.learnTokens.WithLabelValues(u.Purpose, u.Model, "input").Add(float64(u.InputTokens))
	m.learnTokens.WithLabelValues(u.Purpose, u.Model, "output").Add(float64(u.OutputTokens))
	m.learnCost.WithLabelValues(u.Purpose, u.Model).Add(u.Cost)
}

// CountDecisions counts the decisions of a run of learning.
func (m *Metrics) CountDecisions(d MemoryDecision) {
	m = m.orDiscarded()
	for _, decision := range d.Decisions {
		m.decisions.WithLabelValues(decision.Action).Inc()
		switch {
		case decision.Action == "add":
			m.addedFacts.Add(1)
		case decision.Action == "replace":
			m.replacedFacts.Add(1)
		case decision.Action == "ignore" && decision.Reason == ReasonRedundant:
			m.ignoredFacts.Add(1)
		}
	}
}

// CountRetrieved counts the memories in a prompt, and the memories that the answer used.
func (m *Metrics) CountRetrieved(injectedCount, usedCount int) {
	m.orDiscarded().injectedMemories.Add(int64(injectedCount))
	m.orDiscarded().usedMemories.Add(int64(usedCount))
}

// CountJob counts an attempt at a job by result: "done", "later", "retry", "parked" or "lost".
func (m *Metrics) CountJob(kind memory.JobKind, result string) {
	m.orDiscarded().jobAttempts.WithLabelValues(string(kind), result).Inc()
}

// Rates are the rates in /metrics and /api/stats, each between 0 and 1.
type Rates struct {
	Replacement float64 `json:"memory_replacement_rate"` // share of stored facts that replaced another fact
	Dedup       float64 `json:"memory_dedup_rate"`       // share of extracted facts that were already stored
	Hit         float64 `json:"retrieval_hit_rate"`      // share of memories in prompts that answers used
}

// Rates returns the rates since the start of the process.
func (m *Metrics) Rates() Rates {
	if m == nil {
		return Rates{}
	}
	added, replaced, ignored := m.addedFacts.Load(), m.replacedFacts.Load(), m.ignoredFacts.Load()
	return Rates{Replacement: ratio(replaced, replaced+added), Dedup: ratio(ignored, ignored+replaced+added), Hit: ratio(m.usedMemories.Load(), m.injectedMemories.Load())}
}

func ratio(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}
