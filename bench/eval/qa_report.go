package eval

import (
	"fmt"
	"slices"
	"strings"
)

// QAReport is what came of questions, by system and budget.
type QAReport struct {
	Dataset string
	Rows    []QARow
	Models  Models
	Skipped int // searches of Loci that went without a part of recall
	Version string

	AnswerModel, JudgeModel string // "": no model was asked
}

// QAFigure is one measure of a report.
type QAFigure struct {
	Set      string  `json:"set"`
	System   string  `json:"system"`
	Category string  `json:"category,omitempty"` // "" for all
	Budget   int     `json:"budget"`             // tokens of context
	Metric   string  `json:"metric"`
	Value    float64 `json:"value"`
	Low      float64 `json:"low"` // of the 95 % interval
	High     float64 `json:"high"`
	N        int     `json:"n"`                 // questions
	Skipped  int     `json:"skipped,omitempty"` // searches of Loci without a part of recall
	Models
	Versus
	AnswerModel string `json:"answer_model,omitempty"`
	JudgeModel  string `json:"judge_model,omitempty"`
	Version     string `json:"version"`
}

// The measures of rows that are drawn.
const (
	qaEvidence = "evidence"
	qaAccuracy = "accuracy"
)

// qaMetric is a measure of rows.
type qaMetric struct {
	name  string
	of    func(QARow) bool // of which rows
	value func(QARow) float64
	whole bool // categories are not told apart
	good  bool // more is better
}

// qaMetrics are the measures, evidence first, which needs no model.
var qaMetrics = []qaMetric{
	{qaEvidence, func(r QARow) bool { return !r.Unanswerable }, func(r QARow) float64 { return r.Evidence }, false, true},
	{qaAccuracy, func(r QARow) bool { return r.Error == "" && !r.Unanswerable }, func(r QARow) float64 { return float64(r.Score) }, false, true},
	{"refused", func(r QARow) bool { return r.Error == "" && !r.Unanswerable }, func(r QARow) float64 { return float64(count(r.Refused)) }, false, false},
	{"unanswerable refused", func(r QARow) bool { return r.Error == "" && r.Unanswerable }, func(r QARow) float64 { return float64(r.Score) }, false, true},
	{"failed", func(QARow) bool { return true }, func(r QARow) float64 { return float64(count(r.Error != "")) }, true, false},
	{"tokens in", func(r QARow) bool { return r.Error == "" }, func(r QARow) float64 { return float64(r.InputTokens) }, true, false},
	{"tokens out", func(r QARow) bool { return r.Error == "" }, func(r QARow) float64 { return float64(r.OutputTokens) }, true, false},
}

// Figures returns everything that was measured: by metric, system, category and budget.
func (r QAReport) Figures() (out []QAFigure) {
	categories := distinctOf(r.Rows, func(r QARow) string { return r.Category })
	slices.Sort(categories)
	categories = slices.Compact(append([]string{""}, categories...))
	conversations := r.conversations()
	for _, m := range r.metrics() {
		for _, system := range distinctOf(r.Rows, func(r QARow) string { return r.System }) {
			for _, category := range categories {
				if m.whole && category != "" {
					continue
				}
				for _, budget := range distinctOf(r.Rows, func(r QARow) int { return r.Budget }) {
					var values []float64
					var of []int
					for _, row := range r.Rows {
						if row.System == system && row.Budget == budget && (category == "" || row.Category == category) && m.of(row) {
							values, of = append(values, m.value(row)), append(of, conversations[row.Conversation])
						}
					}
					if len(values) == 0 {
						continue
					}
					f := r.figure(m.name, system, budget, byConversation(enough(of), of).mean(values))
					f.Category = category
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// metrics are those of the report: without a model, evidence alone.
func (r QAReport) metrics() []qaMetric {
	if r.AnswerModel == "" {
		return qaMetrics[:1]
	}
	return qaMetrics
}

// conversations numbers those of the rows.
func (r QAReport) conversations() map[string]int {
	out := map[string]int{}
	for i, name := range distinctOf(r.Rows, func(r QARow) string { return r.Conversation }) {
		out[name] = i
	}
	return out
}

func (r QAReport) figure(metric, system string, budget int, e Estimate) QAFigure {
	return QAFigure{
		Set: r.Dataset, System: system, Budget: budget, Metric: metric, Value: e.Value, Low: e.Low, High: e.High, N: e.N,
		Skipped: r.Skipped, Models: r.Models, AnswerModel: r.AnswerModel, JudgeModel: r.JudgeModel, Version: r.Version,
	}
}

// QADifference is a figure of what changed since an earlier run, on the questions of both.
type QADifference struct{ QAFigure }

// String returns the difference as a line.
func (d QADifference) String() string {
	return fmt.Sprintf("%-8s %5d tokens  %-20s %s", d.System, d.Budget, d.Metric, d.of(Estimate{d.Value, d.Low, d.High, d.N}))
}

// Compare sets the report beside the rows of an earlier run, question by question (paired
// bootstrap): their evidence and, where the same model judged both, their answers.
// [memory.Invalid] if no question is in both.
func (r QAReport) Compare(earlier []QARow, run string) (out []QADifference, err error) {
	asked := func(row QARow) QARow {
		row = row.key()
		row.Models, row.AnswerModel, row.JudgeModel = Models{}, "", ""
		return row
	}
	before := map[QARow]QARow{}
	for _, row := range earlier {
		before[asked(row)] = row // the last of a question counts
	}
	conversations := r.conversations()
	for _, m := range r.metrics() {
		if !m.good {
			continue
		}
		for _, system := range distinctOf(r.Rows, func(r QARow) string { return r.System }) {
			for _, budget := range distinctOf(r.Rows, func(r QARow) int { return r.Budget }) {
				var by []float64
				var of []int
				for _, row := range r.Rows {
					was, ok := before[asked(row)]
					if ok && row.System == system && row.Budget == budget && m.of(row) && m.of(was) && (m.name == qaEvidence || was.JudgeModel == row.JudgeModel) {
						by, of = append(by, m.value(row)-m.value(was)), append(of, conversations[row.Conversation])
					}
				}
				if len(by) > 0 {
					e, versus := changeOf(by, of, run)
					f := r.figure(m.name, system, budget, e)
					f.Versus = versus
					out = append(out, QADifference{f})
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, errNothingInBoth
	}
	return out, nil
}

// distinctOf returns what rows have, in their order, each once.
func distinctOf[T comparable](rows []QARow, of func(QARow) T) (out []T) {
	for _, row := range rows {
		if x := of(row); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// String returns the report as tables: one for each metric, a column for each budget.
func (r QAReport) String() string {
	var b strings.Builder
	conversations := distinctOf(r.Rows, func(r QARow) string { return r.Conversation })
	fmt.Fprintf(&b, "%s: %d conversations\n%s", r.Dataset, len(conversations), r.Models.line())
	if r.AnswerModel == "" {
		b.WriteString("no model was asked: this is the share of the evidence that a reader would be shown\n")
	} else {
		fmt.Fprintf(&b, "answered by %s, judged by %s\n", r.AnswerModel, r.JudgeModel)
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "%d searches of loci went without a part of recall\n", r.Skipped)
	}
	b.WriteString("in brackets: 95 % intervals")
	var last QAFigure
	for _, f := range r.Figures() {
		if f.Metric != last.Metric {
			fmt.Fprintf(&b, "\n\n%-28s %5s", f.Metric, "n")
			for _, budget := range distinctOf(r.Rows, func(r QARow) int { return r.Budget }) {
				fmt.Fprintf(&b, "  %-20s", fmt.Sprint(budget, " tokens"))
			}
		}
		if f.Metric != last.Metric || f.System != last.System || f.Category != last.Category {
			fmt.Fprintf(&b, "\n%-28s %5d", strings.TrimRight(f.System+"  "+f.Category, " "), f.N)
		}
		if strings.HasPrefix(f.Metric, "tokens") {
			fmt.Fprintf(&b, "  %-20.0f", f.Value)
		} else {
			fmt.Fprintf(&b, "  %s", Estimate{f.Value, f.Low, f.High, f.N})
		}
		last = f
	}
	b.WriteByte('\n')
	if r.AnswerModel != "" {
		b.WriteString(r.spent())
	}
	return b.String()
}

// spent says how long answers took and what all cost.
func (r QAReport) spent() string {
	took, cost := []float64{0}, 0.0
	for _, row := range r.Rows {
		took, cost = append(took, row.Latency), cost+row.Cost
	}
	slices.Sort(took)
	return fmt.Sprintf("\nan answer took %.2f s (p50), %.2f s (p95); cost %.4f\n", took[len(took)/2], took[len(took)*95/100], cost)
}
