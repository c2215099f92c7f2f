package web

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// survey is what can be counted of an owner's journal.
type survey struct {
	from    time.Time         // of the oldest change
	last    time.Time         // up to which the journal was read
	days    map[string]*dayOf // by date
	actions map[[2]string]int // by action and kind of author
	version int64             // of the owner, when facts were counted
	kinds   map[string]int    // active facts by category
	facts   int               // active facts
	across  recurring         // in several projects
}

// dayOf is what happened to facts on a day.
type dayOf struct {
	Came, Went int // that became active, and that ceased to be
}

// surveys keeps what was counted, so that only what is new is read.
type surveys struct {
	mu sync.Mutex // guards of and everything in it
	of map[memory.Owner]*survey
}

// maxSurveys bounds the owners that are kept, at some 10 kB each.
const maxSurveys = 256

// survey calls see with an owner's survey, brought up to date.
func (p *dataViews) survey(ctx context.Context, owner memory.Owner, see func(*survey)) error {
	p.surveys.mu.Lock()
	defer p.surveys.mu.Unlock()
	s := p.surveys.of[owner]
	if s == nil {
		if len(p.surveys.of) >= maxSurveys || p.surveys.of == nil {
			p.surveys.of = map[memory.Owner]*survey{}
		}
		s = &survey{days: map[string]*dayOf{}, actions: map[[2]string]int{}, version: -1}
	}
	if err := p.readJournal(ctx, owner, s); err != nil {
		delete(p.surveys.of, owner) // half of what is new was counted
		return err
	}
	p.surveys.of[owner] = s
	see(s)
	return nil
}

// readJournal counts the changes after the last that were counted.
func (p *dataViews) readJournal(ctx context.Context, owner memory.Owner, s *survey) error {
	newest := s.last
	for c, err := range memory.AllChanges(ctx, p.engine.Changes, owner, memory.ChangeQuery{After: s.last}) {
		if err != nil {
			return err
		}
		p.count(s, c)
		if c.At.After(newest) {
			newest = c.At
		}
	}
	s.last = newest
	return nil
}

func (p *dataViews) count(s *survey, c memory.Change) {
	if s.from.IsZero() || c.At.Before(s.from) {
		s.from = c.At
	}
	if c.After.Fact == nil && c.After.Link == nil {
		return
	}
	s.actions[[2]string{string(c.Action), string(c.Author.Kind)}]++
	was, is := c.Before.Status() == memory.Active, c.After.Status() == memory.Active
	if was == is {
		return
	}
	date := c.At.In(p.Zone).Format(time.DateOnly)
	d := s.days[date]
	if d == nil {
		d = &dayOf{}
		s.days[date] = d
	}
	if is {
		d.Came++
	} else {
		d.Went++
	}
}

// countFacts counts active facts by category, anew where the owner's version is
// another.
func (p *dataViews) countFacts(ctx context.Context, owner memory.Owner, s *survey) error {
	versions, err := p.engine.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil || versions[0] == s.version {
		return err
	}
	kinds, facts, projects := map[string]int{}, 0, newAcross()
	for m, err := range memory.AllMemories(ctx, p.engine.List, owner, memory.Query{}) {
		if err != nil {
			return err
		}
		kinds[m.Fact.Category]++
		facts++
		projects.add(*m.Fact)
	}
	s.kinds, s.facts, s.across, s.version = kinds, facts, projects.recurring(), versions[0]
	return nil
}

// growth returns how many facts were active at the end of each day from the first
// change to today.
func (s *survey) growth(today time.Time) (days []time.Time, active []float64) {
	if s.from.IsZero() {
		return nil, nil
	}
	zone := today.Location()
	n := 0
	for day := midnight(s.from.In(zone)); !day.After(today); day = day.AddDate(0, 0, 1) {
		if d := s.days[day.Format(time.DateOnly)]; d != nil {
			n += d.Came - d.Went
		}
		days, active = append(days, day), append(active, float64(n))
	}
	return days, active
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// most returns the names with the highest counts, the highest first.
func most(counts map[string]int, n int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		if a < b {
			return -1
		}
		return 1
	})
	return names[:min(n, len(names))]
}
