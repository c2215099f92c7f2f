package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// LearnReport is how well something learned.
type LearnReport struct {
	By      string // the model, or "rules"
	Models  Models
	Lessons []LessonOutcome
}

// learnMetric is a share or a rate over lessons; not a number where there is
// nothing to count.
type learnMetric struct {
	name string
	of   func([]*LessonOutcome) float64
	n    func(*LessonOutcome) int // what it rests on
	unit string                   // of n
}

func active(l *LessonOutcome) int { return l.Active }
func told(l *LessonOutcome) int   { return l.Turns }
func pairs(l *LessonOutcome) int  { return len(l.Pairs) }
func asked(l *LessonOutcome) (n int) {
	for _, p := range l.Pairs {
		n += count(p.Asked)
	}
	return n
}
func judged(l *LessonOutcome) int { // where gold is all that is worth knowing
	if l.partial {
		return 0
	}
	return l.Active - l.Tolerated
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// ratio is one count over another, over all lessons.
func ratio(part, whole func(*LessonOutcome) int, times float64) func([]*LessonOutcome) float64 {
	return func(ls []*LessonOutcome) float64 {
		a, b := 0, 0
		for _, l := range ls {
			if n := whole(l); n > 0 {
				a, b = a+part(l), b+n
			}
		}
		if b == 0 {
			return math.NaN()
		}
		return times * float64(a) / float64(b)
	}
}

func ofPairs(is func(PairOutcome) bool) func(*LessonOutcome) int {
	return func(l *LessonOutcome) (n int) {
		for _, p := range l.Pairs {
			n += count(is(p))
		}
		return n
	}
}

// gold counts the gold facts that hold, of a category or of all; found those that
// were found.
func gold(category string, found bool) func(*LessonOutcome) int {
	return func(l *LessonOutcome) (n int) {
		for _, g := range l.Gold {
			n += count((category == "" || g.Category == category) && (g.Found || !found))
		}
		return n
	}
}

// learnMetrics are what is reported, in this order.
var learnMetrics = func() []learnMetric {
	right := func(l *LessonOutcome) int { return l.Right }
	precision := ratio(right, judged, 1)
	recall := ratio(gold("", true), gold("", false), 1)
	whole := func(l *LessonOutcome) int { // turns, where junk can be told
		if l.partial {
			return 0
		}
		return l.Turns
	}
	return []learnMetric{
		{"precision", precision, judged, "active facts"},
		{"recall", recall, gold("", false), "gold facts"},
		{"F1", func(ls []*LessonOutcome) float64 {
			p, r := precision(ls), recall(ls)
			if p+r == 0 {
				return 0
			}
			return 2 * p * r / (p + r)
		}, gold("", false), "gold facts"},
		{"superseded", ratio(ofPairs(PairOutcome.Right), pairs, 1), pairs, "replacements"},
		{"both active", ratio(ofPairs(func(p PairOutcome) bool { return p.Newer && p.Older }), pairs, 1), pairs, "replacements"},
		{"newer recalled", ratio(ofPairs(func(p PairOutcome) bool { return p.NewerShown }), asked, 1), asked, "questions"},
		{"newer recalled first", ratio(ofPairs(func(p PairOutcome) bool { return p.NewerFirst }), asked, 1), asked, "questions"},
		{"older shown alone", ratio(ofPairs(func(p PairOutcome) bool { return p.OlderShown && !p.Told }), asked, 1), asked, "questions"},
		{"junk per 100 turns", ratio(func(l *LessonOutcome) int { return l.Junk }, whole, 100), whole, "turns"},
		{"wrong", ratio(func(l *LessonOutcome) int { return l.Wrong }, active, 1), active, "active facts"},
		{"wrong subject", ratio(func(l *LessonOutcome) int { return l.WrongSubject }, active, 1), active, "active facts"},
		{"active per 100 turns", ratio(active, told, 100), told, "turns"},
		{"pending per 100 turns", ratio(func(l *LessonOutcome) int { return l.Pending }, told, 100), told, "turns"},
		{"stale", ratio(func(l *LessonOutcome) int { return l.Stale }, active, 1), active, "active facts"},
		{"duplicates", ratio(func(l *LessonOutcome) int { return l.Duplicates }, active, 1), active, "active facts"},
		{"unsupported", ratio(func(l *LessonOutcome) int { return l.Unsupported }, active, 1), active, "active facts"},
	}
}()

// estimate returns a metric with its interval, drawn from lessons.
func (r LearnReport) estimate(m learnMetric) Estimate {
	of := make([]int, len(r.Lessons))
	n := 0
	for i := range r.Lessons {
		of[i] = i
		n += m.n(&r.Lessons[i])
	}
	e := byConversation(false, of).estimate(len(of), func(rows []int) float64 {
		drawn := make([]*LessonOutcome, len(rows))
		for i, row := range rows {
			drawn[i] = &r.Lessons[row]
		}
		return m.of(drawn)
	})
	e.N = n
	return e
}

// Chance is the precision there would be if facts were compared with the gold of
// another lesson: how much of it is due to words that all talk shares. Not a
// number with one lesson.
func (r LearnReport) Chance() float64 {
	hits, all := 0, 0
	for i, l := range r.Lessons {
		other := r.Lessons[(i+max(1, len(r.Lessons)/2))%len(r.Lessons)]
		if l.partial || len(r.Lessons) < 2 {
			continue
		}
		for _, fact := range l.active {
			all++
			hits += count(slices.ContainsFunc(other.gold, func(g GoldFact) bool { return alike(fact, g.Text) > 0 }))
		}
	}
	if all == 0 {
		return math.NaN()
	}
	return float64(hits) / float64(all)
}

// Categories are those of the gold and of the lessons.
func (r LearnReport) Categories() []string {
	set := map[string]bool{}
	for _, l := range r.Lessons {
		if l.Category != "" {
			set[l.Category] = true
		}
		for _, g := range l.Gold {
			if g.Category != "" {
				set[g.Category] = true
			}
		}
	}
	return keys(set)
}

// ofCategory are the metrics of one category, of gold or of lessons.
func ofCategory(category string) []learnMetric {
	of := func(p PairOutcome) bool { return p.Category == category }
	right := ofPairs(func(p PairOutcome) bool { return of(p) && p.Right() })
	within := func(count func(*LessonOutcome) int) func(*LessonOutcome) int {
		return func(l *LessonOutcome) int {
			if l.Category != category {
				return 0
			}
			return count(l)
		}
	}
	return []learnMetric{
		{"recall", ratio(gold(category, true), gold(category, false), 1), gold(category, false), "gold facts"},
		{"superseded", ratio(right, ofPairs(of), 1), ofPairs(of), "replacements"},
		{"precision", ratio(within(func(l *LessonOutcome) int { return l.Right }), within(judged), 1), within(judged), "active facts"},
	}
}

// Total is the work of all lessons.
func (r LearnReport) Total() (turns, failed int, took time.Duration, model Usage) {
	for _, l := range r.Lessons {
		turns, failed, took, model = turns+l.Turns, failed+l.Failed, took+l.Took, model.plus(l.Model)
	}
	return turns, failed, took, model
}

// Prices are what a million tokens cost.
type Prices struct{ Input, Output float64 }

// Cost is what the model's tokens cost.
func (p Prices) Cost(u Usage) float64 {
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output) / 1e6
}

// modelMetrics are what is reported of a model: names of [learnMetrics], in the words of what a
// model is judged by.
var modelMetrics = []struct{ title, metric string }{
	{"true facts that are active", "recall"},
	{"corrections: the newer active, the older ended", "superseded"},
	{"of what is active, right and current", "precision"},
	{"of what is active, wrong", "wrong"},
	{"of what is active, said of the wrong person", "wrong subject"},
	{"facts that wait, per 100 turns", "pending per 100 turns"},
}

// String returns the report as tables: of a model a short one, of the rules all measures.
func (r LearnReport) String() string {
	var b strings.Builder
	turns, failed, took, model := r.Total()
	fmt.Fprintf(&b, "learned by %s: %d lessons, %d turns of users\n", r.By, len(r.Lessons), turns)
	b.WriteString(r.Models.line())
	fmt.Fprintf(&b, "in brackets: 95 %% intervals, %d resamples of lessons\n\n", resamples)
	each := float64(max(1, turns))
	if model.Calls > 0 {
		for _, row := range modelMetrics {
			m := learnMetrics[slices.IndexFunc(learnMetrics, func(m learnMetric) bool { return m.name == row.metric })]
			if e := r.estimate(m); e.N > 0 && !math.IsNaN(e.Value) {
				fmt.Fprintf(&b, "%-47s %s  of %d %s\n", row.title, e, e.N, m.unit)
			}
		}
		fmt.Fprintf(&b, "%-47s %.0f, %.2f\n", "tokens and calls for an exchange", float64(model.Input+model.Output)/each, float64(model.Calls)/each)
		if model.Untold > 0 {
			fmt.Fprintf(&b, "%d answers did not say how many tokens they took\n", model.Untold)
		}
		fmt.Fprintf(&b, "\n%.4f s a turn, %.4f of them the model's; %d of %d calls failed\n", took.Seconds()/each, model.Busy.Seconds()/each, model.Failures, model.Calls)
	} else {
		for _, m := range learnMetrics {
			if e := r.estimate(m); e.N > 0 && !math.IsNaN(e.Value) {
				fmt.Fprintf(&b, "%-24s %s  of %d %s\n", m.name, e, e.N, m.unit)
			}
		}
		if chance := r.Chance(); !math.IsNaN(chance) {
			fmt.Fprintf(&b, "%-24s %.3f\n", "precision by chance", chance)
		}
		fmt.Fprintf(&b, "\n%.4f s a turn\n", took.Seconds()/each)
	}
	for _, category := range r.Categories() {
		for _, m := range ofCategory(category) {
			if e := r.estimate(m); e.N > 0 {
				fmt.Fprintf(&b, "  %-22s %s  of %d %s: %s\n", m.name, e, e.N, m.unit, category)
			}
		}
	}
	fmt.Fprintf(&b, "learning given up %d times\n", failed)
	return b.String()
}

// LearnFigure is one measure of a report, for programs.
type LearnFigure struct {
	By       string  `json:"by"`
	Category string  `json:"category,omitempty"` // of gold; "" for all
	Metric   string  `json:"metric"`
	Value    float64 `json:"value"`
	Low      float64 `json:"low"` // of the 95 % interval
	High     float64 `json:"high"`
	N        int     `json:"n"`
	Unit     string  `json:"unit,omitempty"` // of n
	Version  string  `json:"version"`
	Models
}

// Figures returns everything that was measured, of the given version.
func (r LearnReport) Figures(prices Prices, version string) []LearnFigure {
	var out []LearnFigure
	add := func(category string, m learnMetric) {
		if e := r.estimate(m); e.N > 0 && !math.IsNaN(e.Value) && !math.IsNaN(e.Low) {
			out = append(out, LearnFigure{r.By, category, m.name, e.Value, e.Low, e.High, e.N, m.unit, version, r.Models})
		}
	}
	for _, m := range learnMetrics {
		add("", m)
	}
	for _, category := range r.Categories() {
		for _, m := range ofCategory(category) {
			add(category, m)
		}
	}
	turns, failed, took, model := r.Total()
	plain := func(name string, value float64) {
		out = append(out, LearnFigure{By: r.By, Metric: name, Value: value, Low: value, High: value, N: turns, Unit: "turns", Version: version, Models: r.Models})
	}
	if chance := r.Chance(); !math.IsNaN(chance) {
		plain("precision by chance", chance)
	}
	plain("seconds a turn", took.Seconds()/float64(max(1, turns)))
	plain("given up", float64(failed))
	if model.Calls > 0 {
		plain("calls", float64(model.Calls))
		plain("failed calls", float64(model.Failures))
		plain("tokens in", float64(model.Input))
		plain("tokens out", float64(model.Output))
		plain("model seconds a turn", model.Busy.Seconds()/float64(max(1, turns)))
		if prices != (Prices{}) {
			plain("cost", prices.Cost(model))
		}
	}
	return out
}
