package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Report is how a target did on a data set.
type Report struct {
	Dataset       string
	Pooled        bool
	Conversations int

	// All and Categories are of the data set's own level: turns, or sessions where
	// it names no turns.
	All        Measure
	Categories map[string]Measure

	// Refusal is how well the best score tells a conversation's own questions from
	// another's: the area under the curve, 0.5 for chance. 0 where pooled.
	Refusal float64
	// Answered is the share of own questions for which anything was found, Refused
	// that of another's questions for which nothing was.
	Answered, Refused float64

	Models  Models
	Skipped int // searches that went without a part of recall, such as a model that did not answer

	// Of the gold: see [Conversation].
	Repaired, Excluded, WithoutGold int

	// Outcomes are the questions one by one, by level and in the data set's order.
	Outcomes []Outcome

	own, unanswerable, foreign []scored
}

// summarise sets what follows from the outcomes.
func (r *Report) summarise() {
	level := r.Level()
	for _, o := range r.Outcomes {
		if o.Level != level {
			continue
		}
		m := r.Categories[o.Category]
		for _, m := range []*Measure{&r.All, &m} {
			add(m, o.value("fraction@10"), o.reciprocal())
		}
		r.Categories[o.Category] = m
	}
	r.All = r.All.mean()
	for k, m := range r.Categories {
		r.Categories[k] = m.mean()
	}
	r.Refusal = areaUnderCurve(scores(r.own), scores(r.foreign))
	r.Answered, r.Refused = 1-silent(scores(r.own)), silent(scores(r.foreign))
}

// Level is the data set's own: turns unless it names none.
func (r Report) Level() Level {
	for _, o := range r.Outcomes {
		if o.Level == TurnLevel {
			return TurnLevel
		}
	}
	return SessionLevel
}

// Clustered reports whether intervals are from resampled conversations, not
// questions.
func (r Report) Clustered() bool { return clustered(r.Outcomes) }

func clustered(outcomes []Outcome) bool {
	of := make([]int, len(outcomes))
	for i, o := range outcomes {
		of[i] = o.conversation
	}
	return enough(of)
}

// group is the outcomes of one level and category.
type group struct {
	level    Level
	category string // "": all
	outcomes []Outcome
}

// groups returns each level's questions, all and by category.
func (r Report) groups() []group {
	var out []group
	for _, level := range []Level{TurnLevel, SessionLevel} {
		all := group{level: level}
		by := map[string][]Outcome{}
		for _, o := range r.Outcomes {
			if o.Level == level {
				all.outcomes = append(all.outcomes, o)
				by[o.Category] = append(by[o.Category], o)
			}
		}
		if len(all.outcomes) == 0 {
			continue
		}
		out = append(out, all)
		for _, category := range keys(by) {
			out = append(out, group{level, category, by[category]})
		}
	}
	return out
}

// estimates returns a group's means of metrics, in their order.
func (g group) estimates(clustered bool) []Estimate {
	of := make([]int, len(g.outcomes))
	values := make([][]float64, len(metrics))
	for i, o := range g.outcomes {
		of[i] = o.conversation
		for m, x := range o.values() {
			values[m] = append(values[m], x)
		}
	}
	d := byConversation(clustered, of)
	out := make([]Estimate, len(metrics))
	for m := range metrics {
		out[m] = d.mean(values[m])
	}
	return out
}

// Abstentions returns how well questions that cannot be answered are told: those
// put to another conversation, and the data set's own, where there are any.
func (r Report) Abstentions() []Abstention {
	var out []Abstention
	if len(r.own) > 0 && len(r.foreign) > 0 {
		out = append(out, abstain(PutToAnother, r.own, r.foreign, r.Clustered()))
	}
	if len(r.own) > 0 && len(r.unanswerable) > 0 {
		out = append(out, abstain(UnanswerableHere, r.own, r.unanswerable, r.Clustered()))
	}
	return out
}

// String returns the report as tables.
func (r Report) String() string {
	var b strings.Builder
	owners, unit := "each an owner of its own", "questions"
	if r.Pooled {
		owners = "all one owner's"
	}
	if r.Clustered() {
		unit = "conversations"
	}
	fmt.Fprintf(&b, "%s: %d conversations, %s; %d questions\n", r.Dataset, r.Conversations, owners, len(r.own))
	b.WriteString(r.Models.line())
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "%d searches went without a part of recall\n", r.Skipped)
	}
	fmt.Fprintf(&b, "gold: %d ids repaired, %d excluded; %d questions without gold are not counted\n", r.Repaired, r.Excluded, r.WithoutGold)
	fmt.Fprintf(&b, "in brackets: 95 %% intervals, %d resamples of %s\n", resamples, unit)
	for _, g := range r.groups() {
		name := "  " + g.category
		if g.category == "" {
			fmt.Fprintf(&b, "\n%-30s %6s", g.level+"s", "n")
			for _, m := range headline {
				fmt.Fprintf(&b, "  %-20s", m)
			}
			b.WriteByte('\n')
			name = "all"
		}
		fmt.Fprintf(&b, "%-30s %6d", name, len(g.outcomes))
		estimates := g.estimates(r.Clustered())
		for _, m := range headline {
			fmt.Fprintf(&b, "  %s", estimates[slices.Index(metrics, m)])
		}
		b.WriteByte('\n')
	}
	if abstentions := r.Abstentions(); len(abstentions) > 0 {
		fmt.Fprintf(&b, "\n%-30s %6s  %-20s  %-20s  %-20s\n", "abstaining from questions", "n", "AUC", "precision", "recall")
		for _, a := range abstentions {
			fmt.Fprintf(&b, "%-30s %6d  %s  %s  %s\n", "  "+a.Against, a.Questions, a.AUC, a.Precision, a.Recall)
		}
		fmt.Fprintf(&b, "%.3f of the answerable questions get an answer\n", r.Answered)
	}
	return b.String()
}

// String returns the value and its interval, or a dash for what is not a number.
func (e Estimate) String() string {
	if math.IsNaN(e.Value) {
		return fmt.Sprintf("%-20s", "–")
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Value, e.Low, e.High)
}
