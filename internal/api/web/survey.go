package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// journalCounts are the counts of an owner's journal as of a version. Reading very many facts takes seconds, so
// facts are counted only on request.
type survey struct {
	version int64
	from    time.Time      // time of the oldest change
	days    map[string]int // change in the number of active facts, by date
	actions map[string]int // changes by action
	authors map[string]int // changes by the author's kind
	kinds   map[string]int // active facts by category; nil if facts were not counted
	across  recurring      // items that occur in several projects
}

// journalCounts counts an owner's journal and, with withFacts, the facts. The counts are cached for each version.
func (p *Page) survey(ctx context.Context, owner memory.Owner, withFacts bool) (survey, error) {
	versions, err := p.engine.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return survey{}, err
	}
	if s, known := p.surveys.Get(owner); known && s.version == versions[0] && (s.kinds != nil || !withFacts) {
		return s, nil
	}
	s := survey{version: versions[0], days: map[string]int{}, actions: map[string]int{}, authors: map[string]int{}}
	for c, err := range memory.AllChanges(ctx, p.engine.Changes, owner, memory.ChangeQuery{}) { // newest first
		if err != nil {
			return survey{}, err
		}
		if s.from = c.At; c.After.Fact == nil && c.After.Link == nil {
			continue
		}
		s.actions[string(c.Action)]++
		s.authors[string(c.Author.Kind)]++
		was, is := c.Before.Status() == memory.Active, c.After.Status() == memory.Active
		switch date := c.At.In(p.Zone).Format(time.DateOnly); {
		case is && !was:
			s.days[date]++
		case was && !is:
			s.days[date]--
		}
	}
	if withFacts {
		if err := p.countFacts(ctx, owner, &s); err != nil {
			return survey{}, err
		}
	}
	p.surveys.Set(owner, s)
	return s, nil
}

func (p *Page) countFacts(ctx context.Context, owner memory.Owner, s *survey) error {
	kinds, projects := map[string]int{}, newAcross()
	for m, err := range memory.AllMemories(ctx, p.engine.List, owner, memory.Query{}) {
		if err != nil {
			return err
		}
		kinds[m.Fact.Category]++
		projects.add(*m.Fact)
	}
	s.kinds, s.across = kinds, projects.recurring()
	return nil
}

// growth returns the number of active facts at the end of each day since the first change.
func (s survey) growth(today time.Time) (days []time.Time, active []float64) {
	if s.from.IsZero() {
		return nil, nil
	}
	n, zone := 0, today.Location()
	for day := midnight(s.from.In(zone)); !day.After(today); day = day.AddDate(0, 0, 1) {
		n += s.days[day.Format(time.DateOnly)]
		days, active = append(days, day), append(active, float64(n))
	}
	return days, active
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// topNames returns the n names with the highest counts, the highest first.
func most(counts map[string]int, n int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}
