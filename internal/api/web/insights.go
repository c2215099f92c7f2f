package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

// insightsView describes the size and the origin of a user's memory.
type insightsView struct {
	memory.Counts
	First, Last time.Time
	Growth      series
	Categories  []amount
	Decisions   []amount
	Authors     []amount
	Again       int // number of statements that repeated a stored fact
	Replaced    int // number of outdated facts that were replaced
	Across      recurring
	Rates       obs.Rates
	Recall      latency
	Spent       []spent
	Days        series // tokens by day
	Tokens      int64
	Cost        float64
}

// recallLatency describes the recall times of the answers with a trace.
type latency struct {
	Answers           int
	Half, Most, Worst time.Duration // the median, the 95th percentile, the longest time
	Line              series        // times in milliseconds, from the oldest answer to the newest
}

func latencyOf(answers []memory.Trace) latency {
	l := latency{Answers: len(answers)}
	if l.Answers == 0 {
		return l
	}
	var took []time.Duration
	var ms []float64
	for _, a := range slices.Backward(answers) { // the newest answer is first
		took = append(took, a.Took)
		ms = append(ms, float64(a.Took.Microseconds())/1000)
	}
	l.Line = seriesOf(ms)
	slices.Sort(took)
	at := func(share float64) time.Duration { return took[min(len(took)-1, int(share*float64(len(took))))] }
	l.Half, l.Most, l.Worst = at(0.5), at(0.95), took[len(took)-1]
	return l
}

// modelUsage is the use of one model for one purpose.
type spent struct {
	Purpose, Model       string
	Calls, Input, Output int64
	Cost                 float64
}

// usageDays is the number of days of model use that are shown.
const spentDays = 30

func (p *Page) insights(r *http.Request, v visit) (any, error) {
	ctx := r.Context()
	var view insightsView
	var err error
	if view.Counts, err = p.engine.Stats(ctx, v.owner); err != nil {
		return nil, err
	}
	s, err := p.survey(ctx, v.owner, true)
	if err != nil {
		return nil, err
	}
	view.fill(s, midnight(v.now.In(p.Zone)))
	view.Rates = p.engine.Metrics.Rates()
	traces, err := p.engine.Traces.Traces(ctx, v.owner, memory.TraceQuery{Door: "chat", Limit: tracesAtOnce})
	if err != nil {
		return nil, err
	}
	view.Recall = latencyOf(traces)
	from := memory.DayOf(v.now).AddDate(0, 0, 1-spentDays)
	usage, err := p.engine.Lessons.Spent(ctx, v.owner, from)
	if err != nil {
		return nil, err
	}
	view.spend(usage, from)
	return view, nil
}

// setCounts sets the figures that are computed from the journal and the facts.
func (v *insightsView) fill(s survey, today time.Time) {
	days, active := s.growth(today)
	v.Growth = seriesOf(active)
	if len(days) > 0 {
		v.First, v.Last = days[0], days[len(days)-1]
	}
	for _, name := range most(s.kinds, 10) {
		a := amount{Name: name, Count: s.kinds[name], Link: "/?category=" + url.QueryEscape(name)}
		if name == "" {
			a.Name, a.Link = "no category", ""
		}
		v.Categories = append(v.Categories, a)
	}
	v.Again, v.Replaced = s.actions[string(memory.ActionReinforce)], s.actions[string(memory.ActionReplace)]
	for _, name := range most(s.actions, len(acted)) {
		v.Decisions = append(v.Decisions, amount{Name: cmp.Or(acted[memory.Action(name)], name), Count: s.actions[name]})
	}
	names := map[string]string{"person": "people", "model": "models", "rule": "rules"}
	for _, name := range most(s.authors, 3) {
		v.Authors = append(v.Authors, amount{Name: cmp.Or(names[name], "others"), Count: s.authors[name]})
	}
	v.Across = s.across
	v.Categories, v.Decisions, v.Authors = amounts(v.Categories), amounts(v.Decisions), amounts(v.Authors)
}

// addUsage adds up the use of models by purpose and model, and by day.
func (v *insightsView) spend(usage []memory.Usage, from time.Time) {
	if len(usage) == 0 {
		return
	}
	days := make([]float64, spentDays)
	for _, u := range usage {
		i := slices.IndexFunc(v.Spent, func(s spent) bool { return s.Purpose == u.Purpose && s.Model == u.Model })
		if i < 0 {
			i = len(v.Spent)
			v.Spent = append(v.Spent, spent{Purpose: u.Purpose, Model: u.Model})
		}
		s, tokens := &v.Spent[i], u.InputTokens+u.OutputTokens
		s.Calls, s.Input, s.Output, s.Cost = s.Calls+u.Calls, s.Input+u.InputTokens, s.Output+u.OutputTokens, s.Cost+u.Cost
		v.Tokens, v.Cost = v.Tokens+tokens, v.Cost+u.Cost
		if day := int(u.Day.Sub(from).Hours() / 24); day >= 0 && day < len(days) {
			days[day] += float64(tokens)
		}
	}
	v.Days = seriesOf(days)
	slices.SortFunc(v.Spent, func(a, b spent) int {
		return cmp.Or(cmp.Compare(b.Input+b.Output, a.Input+a.Output), strings.Compare(a.Purpose, b.Purpose), strings.Compare(a.Model, b.Model))
	})
}
