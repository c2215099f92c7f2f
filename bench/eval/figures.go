package eval

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"

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
	Versus
	Version string `json:"version"`
}

// Versus is set of a figure whose value is the difference from an earlier run.
type Versus struct {
	Run    string `json:"versus,omitempty"`
	Better int    `json:"better,omitempty"` // questions that do better than there
	Worse  int    `json:"worse,omitempty"`  // and worse
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

// Difference is a figure of what changed since an earlier run, on the questions of both.
type Difference struct{ Figure }

// Compare sets the report, of the given version, beside the outcomes of an earlier run, question by
// question (paired bootstrap). [memory.Invalid] if no question is in both with the same gold.
func (r Report) Compare(earlier []Outcome, run, version string) ([]Difference, error) {
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
		for _, metric := range headline {
			var by []float64
			var conversations []int
			for _, o := range r.Outcomes {
				if b, ok := before[of(o)]; ok && o.Level == level {
					by, conversations = append(by, o.value(metric)-b.value(metric)), append(conversations, o.conversation)
				}
			}
			if len(by) == 0 {
				continue
			}
			e, versus := changeOf(by, conversations, run)
			f := r.figure(version)
			f.Level, f.Metric, f.Value, f.Low, f.High, f.N, f.Versus = level, metric, e.Value, e.Low, e.High, e.N, versus
			out = append(out, Difference{f})
		}
	}
	if len(out) == 0 {
		return nil, errNothingInBoth
	}
	return out, nil
}

var errNothingInBoth = memory.Errorf(memory.Invalid, "the earlier run asked none of these questions")

// changeOf returns what changed since a run, by how much each question did, and its conversation.
func changeOf(by []float64, conversations []int, run string) (Estimate, Versus) {
	v := Versus{Run: run}
	for _, x := range by {
		v.Better, v.Worse = v.Better+count(x > 0), v.Worse+count(x < 0)
	}
	return byConversation(enough(conversations), conversations).mean(by), v
}

// String returns the difference as a line.
func (d Difference) String() string {
	return fmt.Sprintf("%-8s %-12s %s", d.Level, d.Metric, d.of(Estimate{d.Value, d.Low, d.High, d.N}))
}

// of returns a change as a line.
func (v Versus) of(e Estimate) string {
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]  %d questions, %d better, %d worse", e.Value, e.Low, e.High, e.N, v.Better, v.Worse)
}
