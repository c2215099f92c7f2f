package bench

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Figure is one measure of a report, for programs.
type Figure struct {
	Set         string  `json:"set"`
	Level       Level   `json:"level,omitempty"`    // "" for abstention
	Category    string  `json:"category,omitempty"` // "" for all; of abstention, against what
	Metric      string  `json:"metric"`
	Value       float64 `json:"value"`
	Low         float64 `json:"low"` // of the 95 % interval
	High        float64 `json:"high"`
	N           int     `json:"n"` // questions
	Resampled   string  `json:"resampled"`
	Repaired    int     `json:"repaired"`
	Excluded    int     `json:"excluded"`
	WithoutGold int     `json:"without_gold"` // questions left out
	Pooled      bool    `json:"pooled"`
	Direct      bool    `json:"direct"`            // without HTTP
	Skipped     int     `json:"skipped,omitempty"` // searches without a part of recall
	Models
	Versus  string `json:"versus,omitempty"` // the value is the difference from that run
	Better  int    `json:"better,omitempty"` // questions of it that do better than there
	Worse   int    `json:"worse,omitempty"`  // and worse
	Version string `json:"version"`
}

// Figures returns everything that was measured, of the given version. What is not
// a number is left out.
func (r Report) Figures(version string) []Figure {
	var out []Figure
	figure := func(level Level, category, metric string, e Estimate) {
		if math.IsNaN(e.Value) || math.IsNaN(e.Low) {
			return
		}
		f := r.figure(version)
		f.Level, f.Category, f.Metric = level, category, metric
		f.Value, f.Low, f.High, f.N = e.Value, e.Low, e.High, e.N
		out = append(out, f)
	}
	for _, g := range r.groups() {
		for i, e := range g.estimates(r.Clustered()) {
			figure(g.level, g.category, metrics[i], e)
		}
	}
	for _, a := range r.Abstentions() {
		figure("", a.Against, "abstention auc", a.AUC)
		figure("", a.Against, "abstention precision", a.Precision)
		figure("", a.Against, "abstention recall", a.Recall)
	}
	return out
}

// figure returns what all figures of the report have in common.
func (r Report) figure(version string) Figure {
	f := Figure{
		Set: r.Dataset, Resampled: "questions", Repaired: r.Repaired, Excluded: r.Excluded, WithoutGold: r.WithoutGold,
		Pooled: r.Pooled, Skipped: r.Skipped, Models: r.Models, Version: version,
	}
	if r.Clustered() {
		f.Resampled = "conversations"
	}
	return f
}

// WriteOutcomes writes the questions one by one, a JSON row each.
func (r Report) WriteOutcomes(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, o := range r.Outcomes {
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	return nil
}

// ReadOutcomes reads what WriteOutcomes wrote. [memory.Invalid] for anything else.
func ReadOutcomes(in io.Reader) ([]Outcome, error) {
	var out []Outcome
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var o Outcome
		err := json.Unmarshal(lines.Bytes(), &o)
		if err != nil || o.Question == "" || len(o.Gold) == 0 || len(o.Gold) != len(o.Ranks) {
			return nil, memory.Errorf(memory.Invalid, "row %d is not a question of an earlier run", len(out)+1)
		}
		out = append(out, o)
	}
	return out, lines.Err()
}

// maxLine is the longest line that is read of a file of lines: a turn may be long.
const maxLine = 64 << 20

// Difference is what changed since an earlier run, on the questions of both.
type Difference struct {
	Level         Level
	Metric        string
	Estimate      // of this run less the earlier one
	Better, Worse int
}

// Compare sets the report beside the outcomes of an earlier run, question by
// question (paired bootstrap). [memory.Invalid] if no question is in both with the
// same gold.
func (r Report) Compare(earlier []Outcome) ([]Difference, error) {
	type key struct {
		level         Level
		set, id, gold string
	}
	of := func(o Outcome) key {
		return key{o.Level, o.Set, o.Conversation + "\x00" + o.Question, fmt.Sprint(o.Gold)}
	}
	before := map[key]Outcome{}
	for _, o := range earlier {
		before[of(o)] = o
	}
	var out []Difference
	for _, level := range []Level{TurnLevel, SessionLevel} {
		var now, then []Outcome
		for _, o := range r.Outcomes {
			if b, ok := before[of(o)]; ok && o.Level == level {
				now, then = append(now, o), append(then, b)
			}
		}
		for _, metric := range headline {
			if len(now) > 0 {
				out = append(out, difference(level, metric, now, then))
			}
		}
	}
	if len(out) == 0 {
		return nil, memory.Errorf(memory.Invalid, "the earlier run asked none of these questions")
	}
	return out, nil
}

// difference compares two runs of the same questions, in the same order.
func difference(level Level, metric string, now, then []Outcome) Difference {
	out := Difference{Level: level, Metric: metric}
	var by []float64
	var of []int
	for i := range now {
		x := now[i].value(metric) - then[i].value(metric)
		switch cmp.Compare(x, 0) {
		case 1:
			out.Better++
		case -1:
			out.Worse++
		}
		by, of = append(by, x), append(of, now[i].conversation)
	}
	out.Estimate = byConversation(clustered(now), of).mean(by)
	return out
}

// String returns the difference as a line.
func (d Difference) String() string {
	return fmt.Sprintf("%-8s %-12s %+.3f [%+.3f, %+.3f]  %d questions, %d better, %d worse",
		d.Level, d.Metric, d.Value, d.Low, d.High, d.N, d.Better, d.Worse)
}

// Differences returns a comparison with an earlier run as figures.
func (r Report) Differences(list []Difference, versus, version string) []Figure {
	out := slices.Repeat([]Figure{r.figure(version)}, len(list))
	for i, d := range list {
		f := &out[i]
		f.Level, f.Metric, f.Value, f.Low, f.High, f.N = d.Level, d.Metric, d.Value, d.Low, d.High, d.N
		f.Better, f.Worse, f.Versus = d.Better, d.Worse, versus
	}
	return out
}
