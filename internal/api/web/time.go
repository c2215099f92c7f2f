package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// changesPageSize is the maximum number of changes on a page of the timeline.
const changesAtOnce = 40

// timeView is memory as of a day, and later changes.
type timeView struct {
	Here   string
	Empty  bool
	First  time.Time
	Day    time.Time // shown day; memory is shown as of the end of this day
	Today  bool
	N, Max int // numbers of the shown day and of today; the first day is 0
	Growth series
	Facts  int // active facts on that day
	Rows   []row
	More   int // facts of that day that are not listed
	Since  []onDay
	SinceT string // time to which an undo goes back (RFC 3339)
	Next   string
}

// dayChanges lists the changes of one day.
type onDay struct {
	Day   time.Time
	Steps []step
}

func (p *Page) time(r *http.Request, v visit) (any, error) {
	today := midnight(v.now.In(p.Zone))
	s, err := p.survey(r.Context(), v.owner, false)
	if err != nil {
		return nil, err
	}
	days, active := s.growth(today)
	view := timeView{Here: here(r)}
	if len(days) == 0 {
		view.Empty = true
		return view, nil
	}
	n, err := requestedDay(r, len(days))
	if err != nil {
		return nil, err
	}
	view.First, view.Day, view.N, view.Max = days[0], days[n], n, len(days)-1
	view.Today = n == view.Max
	view.Growth, view.Facts = seriesOf(active), int(active[n])
	var at memory.At
	if !view.Today {
		at.AsOf = view.Day.AddDate(0, 0, 1).Add(-time.Microsecond)
		view.SinceT = at.AsOf.Format(time.RFC3339Nano)
	}
	page, err := p.engine.List(r.Context(), v.owner, memory.Query{At: at, Limit: listed})
	if err != nil {
		return nil, err
	}
	if view.Rows, err = p.pastRows(r, v, page.Memories, view.Here); err != nil {
		return nil, err
	}
	view.More = max(view.Facts-len(view.Rows), 0)
	changes, err := p.engine.Changes(r.Context(), v.owner, memory.ChangeQuery{After: at.AsOf, Limit: changesAtOnce, Cursor: r.FormValue("cursor")})
	if err != nil {
		return nil, err
	}
	view.Since, view.Next = p.byDay(changes.Changes), changes.Next
	return view, nil
}

// requestedDay returns the number of the requested day, or the last day's number if no day was requested.
func requestedDay(r *http.Request, days int) (int, error) {
	last, s := days-1, r.FormValue("n")
	if s == "" {
		return last, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, memory.Errorf(memory.Invalid, "invalid day number %q", clip(20, s))
	}
	return min(max(n, 0), last), nil
}

// pastRows returns facts in their former state, each with a note about its later change.
func (p *Page) pastRows(r *http.Request, v visit, then []memory.Memory, here string) ([]row, error) {
	ids := make([]string, 0, len(then))
	for _, m := range then {
		ids = append(ids, m.ID())
	}
	now, err := p.stored(r, v, ids...)
	if err != nil {
		return nil, err
	}
	var out []row
	for _, m := range then {
		one := row{Memory: client.View(m), Back: here}
		switch is := now[m.ID()]; {
		case is.Fact == nil:
			one.Since = "gone"
		case is.Status() == memory.Superseded:
			one.Since = "replaced since"
		case is.Status() != memory.Active:
			one.Since = "forgotten since"
		case is.Content() != m.Content():
			one.Since = "edited since"
		}
		out = append(out, one)
	}
	return out, nil
}

// changesByDay groups changes, newest first, by day.
func (p *Page) byDay(changes []memory.Change) []onDay {
	var out []onDay
	for _, c := range changes {
		day := midnight(c.At.In(p.Zone))
		if len(out) == 0 || !out[len(out)-1].Day.Equal(day) {
			out = append(out, onDay{Day: day})
		}
		last := &out[len(out)-1]
		last.Steps = append(last.Steps, stepOf(c))
	}
	return out
}
