package eval

import (
	"math"

	"github.com/loci-memory/loci/bench/report"
)

// LearnReport has the results of lessons.
type LearnReport struct {
	By      string // the model, or "rules"
	Models  Models
	Lessons []LessonOutcome
}

// learnMetric is a quotient of two counts over lessons. Lessons whose divisor is 0 do not count.
type learnMetric struct {
	name, part, whole, unit string
	times                   float64 // factor of the quotient
}

// learnMetrics are the reported metrics, in order.
var learnMetrics = []learnMetric{
	{"precision", "right", "judged", "active facts", 1},
	{"recall", "found", "gold", "gold facts", 1},
	{"superseded", "superseded", "replacement", "replacements", 1},
	{"both active", "both active", "replacement", "replacements", 1},
	{"junk per 100 turns", "junk", "user turns", "turns", 100},
	{"wrong", "wrong", "active", "active facts", 1},
	{"wrong subject", "wrong subject", "active", "active facts", 1},
	{"active per 100 turns", "active", "user turns", "turns", 100},
	{"pending per 100 turns", "pending", "user turns", "turns", 100},
	{"stale", "stale", "active", "active facts", 1},
	{"duplicates", "duplicate", "active", "active facts", 1},
}

// of returns the metric of some lessons, NaN without any count.
func (m learnMetric) of(lessons []*LessonOutcome) float64 {
	a, b := 0, 0
	for _, l := range lessons {
		if n := l.counts[m.whole]; n > 0 {
			a, b = a+l.counts[m.part], b+n
		}
	}
	return m.times * float64(a) / float64(b)
}

// f1 returns the F1 score of precision and recall.
func f1(lessons []*LessonOutcome) float64 {
	p, r := learnMetrics[0].of(lessons), learnMetrics[1].of(lessons)
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}

// estimate returns a statistic of lessons with its bootstrap interval.
func (r LearnReport) estimate(name string, of func([]*LessonOutcome) float64) report.Cell {
	return report.Share(name, report.DrawsOf(make([]int, len(r.Lessons))).Estimate(func(rows []int) float64 {
		drawn := make([]*LessonOutcome, len(rows))
		for i, row := range rows {
			drawn[i] = &r.Lessons[row]
		}
		return of(drawn)
	}))
}

// sum adds up a count of all lessons.
func (r LearnReport) sum(what string) (n int) {
	for _, l := range r.Lessons {
		n += l.counts[what]
	}
	return n
}

// Rows returns all measures, and the usage of the model if one learned.
func (r LearnReport) Rows() (rows []report.Row) {
	add := func(name string, n int, unit string, cell report.Cell) {
		if n > 0 && !math.IsNaN(cell.Value) {
			row := report.Row{Part: "learned by " + r.By, Name: name, N: n, Note: unit, Cells: []report.Cell{cell}}
			rows = append(rows, row)
		}
	}
	for _, m := range learnMetrics {
		add(m.name, r.sum(m.whole), m.unit, r.estimate("value", m.of))
	}
	add("F1", r.sum("gold"), "gold facts", r.estimate("value", f1))
	turns := r.sum("user turns")
	each := func(name, format string, of func(LessonOutcome) float64) {
		total := 0.0
		for _, l := range r.Lessons {
			total += of(l)
		}
		add(name, turns, "turns", report.Number("value", format, total/float64(max(1, turns))))
	}
	add("learning failed", turns, "turns", report.Number("value", "%.0f", float64(r.sum("failed"))))
	each("seconds a turn", "%.4f", func(l LessonOutcome) float64 { return l.Took.Seconds() })
	if r.By != "rules" {
		each("calls a turn", "%.2f", func(l LessonOutcome) float64 { return float64(l.Model.Calls) })
		each("tokens a turn", "%.0f", func(l LessonOutcome) float64 {
			return float64(l.Model.InputTokens + l.Model.OutputTokens)
		})
	}
	return rows
}
