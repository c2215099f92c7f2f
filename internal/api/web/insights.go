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
	First, Last time.Time // days of the first change and of today
	Growth      series    // active facts by day
	Categories  []labeledCount
	Decisions   []labeledCount // changes by action
	Authors     []labeledCount // changes by the author's kind
	Repeated    int            // number of statements that repeated a stored fact
	Replaced    int            // number of outdated facts that were replaced
	Across      recurringItems // items that occur in several projects
	Rates       obs.Rates
	Recall      recallLatency
	Usage       []modelUsage
	Days        series // tokens by day
	Tokens      int64  // sum of the tokens of Usage
	Cost        float64
}

// recallLatency describes the recall times of the answers with a trace.
type recallLatency struct {
	Answers          int           // number of answers
	Median, P95, Max time.Duration // the median, the 95th percentile, the longest time
	Line             series        // times in milliseconds, from the oldest answer to the newest
}

func latencyOf(answers []memory.Trace) recallLatency {
	l := recallLatency{Answers: len(answers)}
	if l.Answers == 0 {
		return l
	}
	var durations []time.Duration
	var ms []float64
	for _, a := range slices.Backward(answers) { // the newest answer is first
		durations = append(durations, a.Took)
		ms = append(ms, float64(a.Took.Microseconds())/1000)
	}
	l.Line = seriesOf(ms)
	slices.Sort(durations)
	percentile := func(share float64) time.Duration {
		return durations[min(len(durations)-1, int(share*float64(len(durations))))]
	}
	l.Median, l.P95, l.Max = percentile(0.5), percentile(0.95), durations[len(durations)-1]
	return l
}

// modelUsage is the use of one model for one purpose.
type modelUsage struct {
	Purpose, Model       string
	Calls, Input, Output int64 // number of calls, and of tokens in prompts and responses
	Cost                 float64
}

// usageDays is the number of days of model use that are shown.
const usageDays = 30

func (p *Page) insightsView(r *http.Request, v visit) (any, error) {
	ctx := r.Context()
	var view insightsView
	var err error
	if view.Counts, err = p.engine.Stats(ctx, v.owner); err != nil {
		return nil, err
	}
	s, err := p.journalCounts(ctx, v.owner, true)
	if err != nil {
		return nil, err
	}
	view.setCounts(s, midnight(v.now.In(p.Zone)))
	view.Rates = p.engine.Metrics.Rates()
	traces, err := p.engine.Traces.Traces(ctx, v.owner, memory.TraceQuery{Door: "chat", Limit: maxTraces})
	if err != nil {
		return nil, err
	}
	view.Recall = latencyOf(traces)
	from := memory.StartOfDay(v.now).AddDate(0, 0, 1-usageDays)
	usage, err := p.engine.Lessons.UsageSince(ctx, v.owner, from)
	if err != nil {
		return nil, err
	}
	view.addUsage(usage, from)
	return view, nil
}

// setCounts sets the numbers that are counted in the journal and in the facts.
func (v *insightsView) setCounts(s journalCounts, today time.Time) {
	days, active := s.growth(today)
	v.Growth = seriesOf(active)
	if len(days) > 0 {
		v.First, v.Last = days[0], days[len(days)-1]
	}
	for _, name := range topNames(s.categories, 10) {
		a := labeledCount{Name: name, Count: s.categories[name], Link: "/?category=" + url.QueryEscape(name)}
		if name == "" {
			a.Name, a.Link = "no category", ""
		}
		v.Categories = append(v.Categories, a)
	}
	v.Repeated, v.Replaced = s.actions[string(memory.ActionReinforce)], s.actions[string(memory.ActionReplace)]
	for _, name := range topNames(s.actions, len(actionNames)) {
		v.Decisions = append(v.Decisions, labeledCount{Name: cmp.Or(actionNames[memory.Action(name)], name), Count: s.actions[name]})
	}
	names := map[string]string{"person": "people", "model": "models", "rule": "rules"}
	for _, name := range topNames(s.authors, 3) {
		v.Authors = append(v.Authors, labeledCount{Name: cmp.Or(names[name], "others"), Count: s.authors[name]})
	}
	v.Across = s.recurring
	v.Categories, v.Decisions, v.Authors = withShares(v.Categories), withShares(v.Decisions), withShares(v.Authors)
}

// addUsage adds up the use of models since firstDay by purpose and model, and by day.
func (v *insightsView) addUsage(usage []memory.Usage, firstDay time.Time) {
	if len(usage) == 0 {
		return
	}
	days := make([]float64, usageDays)
	for _, u := range usage {
		i := slices.IndexFunc(v.Usage, func(s modelUsage) bool { return s.Purpose == u.Purpose && s.Model == u.Model })
		if i < 0 {
			i = len(v.Usage)
			v.Usage = append(v.Usage, modelUsage{Purpose: u.Purpose, Model: u.Model})
		}
		s, tokens := &v.Usage[i], u.InputTokens+u.OutputTokens
		s.Calls, s.Input, s.Output, s.Cost = s.Calls+u.Calls, s.Input+u.InputTokens, s.Output+u.OutputTokens, s.Cost+u.Cost
		v.Tokens, v.Cost = v.Tokens+tokens, v.Cost+u.Cost
		if day := int(u.Day.Sub(firstDay).Hours() / 24); day >= 0 && day < len(days) {
			days[day] += float64(tokens)
		}
	}
	v.Days = seriesOf(days)
	slices.SortFunc(v.Usage, func(a, b modelUsage) int {
		return cmp.Or(cmp.Compare(b.Input+b.Output, a.Input+a.Output), strings.Compare(a.Purpose, b.Purpose), strings.Compare(a.Model, b.Model))
	})
}
