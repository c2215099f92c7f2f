// Package report prints the measures of locibench's commands as tables or JSON lines, with their intervals.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"unicode/utf8"
)

// Row has the measures of one thing.
type Row struct {
	Part  string // its table
	Name  string
	N     int // number of questions, requests and so on; 0: unknown
	Cells []Cell
	Note  string
}

// Cell is one measure of a row. NaN is not printed.
type Cell struct {
	Metric           string
	Value, Low, High float64
	Of               int // the whole of a count
	text             string
}

// Share is a measure with its interval.
func Share(metric string, e Estimate) Cell {
	text := fmt.Sprintf("%.3f [%.3f, %.3f]", e.Value, e.Low, e.High)
	return Cell{Metric: metric, Value: e.Value, Low: e.Low, High: e.High, text: text}
}

// Count is a measure n of a whole.
func Count(metric string, n, of int) Cell {
	return Cell{Metric: metric, Value: float64(n), Of: of, text: fmt.Sprintf("%d of %d", n, of)}
}

// Average is n divided by of.
func Average(metric string, n, of int) Cell {
	return Number(metric, "%.1f", float64(n)/float64(max(1, of)))
}

// Percent is n of a whole in percent.
func Percent(metric string, n, of int) Cell {
	share := 100 * float64(n) / float64(max(1, of))
	return Cell{Metric: metric, Value: share, Of: of, text: fmt.Sprintf("%.0f %% of %d", share, of)}
}

// Number is any other measure, printed in a format of package fmt.
func Number(metric, format string, value float64) Cell {
	return Cell{Metric: metric, Value: value, text: fmt.Sprintf(format, value)}
}

// String returns the cell as in the table.
func (c Cell) String() string {
	if math.IsNaN(c.Value) {
		return "–"
	}
	return c.text
}

// Printer prints rows as they are measured.
type Printer struct {
	w     io.Writer
	json  bool
	about map[string]any // fields of every JSON line

	part, metrics string // of the last row
	widths        []int  // of the columns, which only grow
	err           error
}

// NewPrinter returns a printer of tables or of JSON lines.
func NewPrinter(w io.Writer, asJSON bool) *Printer {
	return &Printer{w: w, json: asJSON, about: map[string]any{}}
}

// About adds a field to every JSON line. For people, use [Printer.Say].
func (p *Printer) About(key string, value any) { p.about[key] = value }

// Say prints a line for people.
func (p *Printer) Say(format string, args ...any) {
	if !p.json {
		p.print(format+"\n", args...)
	}
}

// Rows prints rows, and returns the first error of the printer.
func (p *Printer) Rows(rows ...Row) error {
	for _, r := range rows {
		if p.json {
			p.lines(r)
		} else {
			p.line(r)
		}
	}
	return p.err
}

func (p *Printer) print(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); p.err == nil {
		p.err = err
	}
}

// line prints a line of a table, after a header if the table or its columns change.
func (p *Printer) line(r Row) {
	head := fmt.Sprintf("%-48s%8s", r.Part, "n")
	line := fmt.Sprintf("%-48s%8s", r.Name, strings.TrimPrefix(fmt.Sprint(r.N), "0"))
	metrics := ""
	for i, c := range r.Cells {
		if metrics += c.Metric + "\n"; len(p.widths) <= i {
			p.widths = append(p.widths, 0)
		}
		p.widths[i] = max(p.widths[i], 9, len(c.Metric), utf8.RuneCountInString(c.String()))
		head += fmt.Sprintf("  %*s", p.widths[i], c.Metric)
		line += fmt.Sprintf("  %*s", p.widths[i], c)
	}
	if r.Note != "" {
		line += "  (" + r.Note + ")"
	}
	if r.Part != p.part {
		p.print("\n")
	}
	if r.Part != p.part || metrics != p.metrics {
		p.print("%s\n", head)
	}
	p.part, p.metrics = r.Part, metrics
	p.print("%s\n", strings.TrimRight(line, " "))
}

// lines prints a JSON line for each measure of a row.
func (p *Printer) lines(r Row) {
	for _, c := range r.Cells {
		if math.IsNaN(c.Value) {
			continue
		}
		line := map[string]any{"part": r.Part, "name": r.Name, "metric": c.Metric, "value": c.Value}
		for key, value := range map[string]float64{"low": c.Low, "high": c.High, "n": float64(max(r.N, c.Of))} {
			if value != 0 {
				line[key] = value
			}
		}
		if r.Note != "" {
			line["note"] = r.Note
		}
		maps.Copy(line, p.about)
		data, err := json.Marshal(line)
		if p.err == nil {
			p.err = err
		}
		p.print("%s\n", data)
	}
}
