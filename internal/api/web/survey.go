package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// journalCounts are the counts of an owner's journal at a version. Facts are counted only on request, because
// reading very many facts takes seconds.
type journalCounts struct {
	version      int64
	oldest       time.Time      // time of the oldest change
	growthByDate map[string]int // difference in the number of active facts, by date
	actions      map[string]int // changes by action
	authors      map[string]int // changes by the author's kind
	categories   map[string]int // active facts by category; nil if facts were not counted
	recurring    recurringItems // items that occur in several projects
}

// journalCounts counts an owner's journal and, with withFacts, the facts. The counts are cached for each version.
func (p *Page) journalCounts(ctx context.Context, owner memory.Owner, withFacts bool) (journalCounts, error) {
	versions, err := p.engine.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return journalCounts{}, err
	}
	if s, known := p.countsCache.Get(owner); known && s.version == versions[0] && (s.categories != nil || !withFacts) {
		return s, nil
	}
	s := journalCounts{version: versions[0], growthByDate: map[string]int{}, actions: map[string]int{}, authors: map[string]int{}}
	for c, err := range memory.AllChanges(ctx, p.engine.Changes, owner, memory.ChangeQuery{}) { // newest first
		if err != nil {
			return journalCounts{}, err
		}
		if s.oldest = c.At; c.After.Fact == nil && c.After.Link == nil {
			continue
		}
		s.actions[string(c.Action)]++
		s.authors[string(c.Author.Kind)]++
		was, is := c.Before.Status() == memory.Active, c.After.Status() == memory.Active
		switch date := c.At.In(p.Zone).Format(time.DateOnly); {
		case is && !was:
			s.growthByDate[date]++
		case was && !is:
			s.growthByDate[date]--
		}
	}
	if withFacts {
		if err := p.countFacts(ctx, owner, &s); err != nil {
			return journalCounts{}, err
		}
	}
	p.countsCache.Set(owner, s)
	return s, nil
}

func (p *Page) countFacts(ctx context.Context, owner memory.Owner, s *journalCounts) error {
	categories, projects := map[string]int{}, newProjectCounts()
	for m, err := range memory.AllMemories(ctx, p.engine.List, owner, memory.Query{}) {
		if err != nil {
			return err
		}
		categories[m.Fact.Category]++
		projects.addFact(*m.Fact)
	}
	s.categories, s.recurring = categories, projects.findRecurring()
	return nil
}

// growth returns the number of active facts at the end of each day since the first change.
func (s journalCounts) growth(today time.Time) (days []time.Time, activeCounts []float64) {
	if s.oldest.IsZero() {
		return nil, nil
	}
	n, zone := 0, today.Location()
	for day := midnight(s.oldest.In(zone)); !day.After(today); day = day.AddDate(0, 0, 1) {
		n += s.growthByDate[day.Format(time.DateOnly)]
		days, activeCounts = append(days, day), append(activeCounts, float64(n))
	}
	return days, activeCounts
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// topNames returns the n names with the highest counts, the highest first.
func topNames(counts map[string]int, n int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}
