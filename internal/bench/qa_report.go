package bench

import (
	"fmt"
	"html"
	"io"
	"math"
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

// The picture's measures, in pixels.
const (
	qaWidth, qaHeight = 720, 420
	qaLeft, qaRight   = 86, 120 // of the lines; their names stand at the right
	qaTop, qaBottom   = 64, 52
	qaText            = 16 // height of a line of text
)

// qaStyle follows the reader's choice of light or dark. Lines differ in dashes, too.
const qaStyle = `
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.grid { stroke: #d0d7de }
.paper { fill: #ffffff }
polyline { fill: none; stroke: #8c959f; stroke-width: 2; stroke-dasharray: 6 4 }
polyline.loci { stroke: #0969da; stroke-width: 3; stroke-dasharray: none }
polyline.cosine { stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .grid { stroke: #3d444d }
  .paper { fill: #0d1117 }
  polyline.loci { stroke: #58a6ff }
}
`

// WriteSVG draws the share of evidence or, where models were asked, the accuracy over the tokens
// of context, a line for each system. The axis of tokens is logarithmic.
func (r QAReport) WriteSVG(w io.Writer) error {
	metric, title := qaEvidence, "Share of the evidence in the context, "+r.Dataset
	if r.AnswerModel != "" {
		metric, title = qaAccuracy, "Right answers of "+r.AnswerModel+", "+r.Dataset
	}
	budgets := distinctOf(r.Rows, func(r QARow) int { return r.Budget })
	most, least := math.Log(float64(slices.Max(budgets))), math.Log(float64(slices.Min(budgets)))
	x := func(budget int) float64 {
		return qaLeft + (math.Log(float64(budget))-least)/max(most-least, 1e-9)*(qaWidth-qaLeft-qaRight)
	}
	y := func(value float64) float64 { return qaHeight - qaBottom - value*(qaHeight-qaTop-qaBottom) }
	var b strings.Builder
	label := func(class, anchor string, x, y float64, text string) {
		fmt.Fprintf(&b, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, anchor, x, y, html.EscapeString(text))
	}
	line := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x1, y1, x2, y2)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">`+"\n", qaWidth, qaHeight, qaWidth, qaHeight)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<style>%s</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", html.EscapeString(title), qaStyle, qaWidth, qaHeight)
	label("title", "start", qaText, 28, title)
	for share := 0.0; share < 1.1; share += 0.2 {
		line(qaLeft/2, y(share), qaWidth-qaRight, y(share))
		label("", "end", qaLeft/2-4, y(share)+4, fmt.Sprintf("%.1f", share))
	}
	for _, budget := range budgets {
		line(x(budget), qaTop, x(budget), qaHeight-qaBottom)
		label("", "middle", x(budget), qaHeight-qaBottom+qaText, fmt.Sprint(budget))
	}
	label("", "middle", (qaLeft+qaWidth-qaRight)/2, qaHeight-12, "tokens of context")
	for _, system := range distinctOf(r.Rows, func(r QARow) string { return r.System }) {
		var points []string
		var end float64
		for _, f := range r.Figures() {
			if f.Metric != metric || f.System != system || f.Category != "" {
				continue
			}
			end = y(f.Value)
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(f.Budget), end))
			at := end + qaText // below its line, but for Loci's
			if system == QALoci {
				at = end - qaText/2
			}
			label("", "middle", x(f.Budget), at, fmt.Sprintf("%.3f", f.Value))
		}
		fmt.Fprintf(&b, `<polyline class="%s" points="%s"/>`+"\n", system, strings.Join(points, " "))
		label("", "start", qaWidth-qaRight+24, end+4, system)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
