package eval

import (
	"math"
	"slices"

	"github.com/loci-memory/loci/bench/report"
)

// LearnReport is how well something learned.
type LearnReport struct {
	By      string // the model, or "rules"
	Models  Models
	Lessons []LessonOutcome
}

// learnMetric is one count over another, over lessons: a share or a rate. Lessons of which the whole
// is 0 do not count.
type learnMetric struct {
	name, part, whole, unit string
	times                   float64 // what the quotient is multiplied by
}

// learnMetrics are what is reported, in this order.
var learnMetrics = []learnMetric{
	{"precision", "right", "judged", "active facts", 1},
	{"recall", "found", "gold", "gold facts", 1},
	{"superseded", "superseded", "replacement", "replacements", 1},
	{"both active", "both active", "replacement", "replacements", 1},
	{"junk per 100 turns", "junk", "told", "turns", 100},
	{"wrong", "wrong", "active", "active facts", 1},
	{"wrong subject", "wrong subject", "active", "active facts", 1},
	{"active per 100 turns", "active", "told", "turns", 100},
	{"pending per 100 turns", "pending", "told", "turns", 100},
	{"stale", "stale", "active", "active facts", 1},
	{"duplicates", "duplicate", "active", "active facts", 1},
}

// of is the metric of some lessons; not a number where there is nothing to count.
func (m learnMetric) of(lessons []*LessonOutcome) float64 {
	a, b := 0, 0
	for _, l := range lessons {
		if n := l.counts[m.whole]; n > 0 {
			a, b = a+l.counts[m.part], b+n
		}
	}
	return m.times * float64(a) / float64(b)
}

// f1 is that of precision and recall.
func f1(lessons []*LessonOutcome) float64 {
	p, r := learnMetrics[0].of(lessons), learnMetrics[1].of(lessons)
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}

// estimate returns a statistic of lessons with its interval, drawn from lessons.
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

// Chance is the precision there would be if facts were compared with the gold of another lesson: how
// much of it is due to words that all talk shares. Not a number with one lesson.
func (r LearnReport) Chance() float64 {
	hits, all := 0, 0
	for i, l := range r.Lessons {
		other := r.Lessons[(i+max(1, len(r.Lessons)/2))%len(r.Lessons)]
		for _, fact := range l.Active {
			all += count(len(r.Lessons) > 1)
			hits += count(slices.ContainsFunc(other.Gold, func(g GoldFact) bool { return alike(fact, g.Text) > 0 }))
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
		set[l.Category] = true
		for _, g := range l.Gold {
			set[g.Category] = true
		}
	}
	delete(set, "")
	return sortedKeys(set)
}

// Rows are all measures, and what the model took, if one learned.
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
	turns := r.sum("told")
	each := func(name, format string, of func(LessonOutcome) float64) {
		total := 0.0
		for _, l := range r.Lessons {
			total += of(l)
		}
		add(name, turns, "turns", report.Number("value", format, total/float64(max(1, turns))))
	}
	add("precision by chance", r.sum("active"), "active facts", report.Number("value", "%.3f", r.Chance()))
	add("learning given up", turns, "turns", report.Number("value", "%.0f", float64(r.sum("given up"))))
	each("seconds a turn", "%.4f", func(l LessonOutcome) float64 { return l.Took.Seconds() })
	if r.By != "rules" {
		each("calls a turn", "%.2f", func(l LessonOutcome) float64 { return float64(l.Model.Calls) })
		each("tokens a turn", "%.0f", func(l LessonOutcome) float64 {
			return float64(l.Model.InputTokens + l.Model.OutputTokens)
		})
		each("cost a turn", "%.6f", func(l LessonOutcome) float64 { return l.Model.Cost })
	}
	for _, category := range r.Categories() {
		row := report.Row{Part: "by category", Name: "  " + category, N: r.sum(category + "/gold")}
		for _, m := range learnMetrics[:3] {
			m.part, m.whole = category+"/"+m.part, category+"/"+m.whole
			row.Cells = append(row.Cells, r.estimate(m.name, m.of))
		}
		rows = append(rows, row)
	}
	return rows
}
