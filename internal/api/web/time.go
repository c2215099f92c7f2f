package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

const changesPageSize = 40

// timeView is memory as of a day, and later changes.
type timeView struct {
	Here     string    // path and query of this view
	Empty    bool      // the journal has no changes
	First    time.Time // day of the first change
	Day      time.Time // shown day; memory is shown as of the end of this day
	Today    bool      // the shown day is today
	N, Max   int       // numbers of the shown day and of today; the first day is 0
	Growth   series    // active facts by day
	Facts    int       // active facts on that day
	Rows     []row
	Unlisted int // facts of that day that are not listed
	Changes  []dayChanges
	UndoTo   string // time to which an undo goes back (RFC 3339)
	Next     string // cursor of the next page of changes
}

type dayChanges struct {
	Day   time.Time
	Steps []historyStep
}

func (p *Page) timelineView(r *http.Request, v visit) (any, error) {
	today := midnight(v.now.In(p.Zone))
	s, err := p.journalCounts(r.Context(), v.owner, false)
	if err != nil {
		return nil, err
	}
	days, active := s.growth(today)
	view := timeView{Here: viewURL(r)}
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
		view.UndoTo = at.AsOf.Format(time.RFC3339Nano)
	}
	page, err := p.engine.List(r.Context(), v.owner, memory.Query{At: at, Limit: listPageSize})
	if err != nil {
		return nil, err
	}
	if view.Rows, err = p.pastRows(r, v, page.Memories, view.Here); err != nil {
		return nil, err
	}
	view.Unlisted = max(view.Facts-len(view.Rows), 0)
	changes, err := p.engine.Changes(r.Context(), v.owner, memory.ChangeQuery{After: at.AsOf, Limit: changesPageSize, Cursor: r.FormValue("cursor")})
	if err != nil {
		return nil, err
	}
	view.Changes, view.Next = p.changesByDay(changes.Changes), changes.Next
	return view, nil
}

// requestedDay returns the number of the requested day, or the last day's number if no day was requested.
func requestedDay(r *http.Request, dayCount int) (int, error) {
	last, s := dayCount-1, r.FormValue("n")
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
func (p *Page) pastRows(r *http.Request, v visit, pastMemories []memory.Memory, returnTo string) ([]row, error) {
	ids := make([]string, 0, len(pastMemories))
	for _, m := range pastMemories {
		ids = append(ids, m.ID())
	}
	now, err := p.memoriesByID(r, v, ids...)
	if err != nil {
		return nil, err
	}
	var out []row
	for _, m := range pastMemories {
		one := row{Memory: client.View(m), Back: returnTo}
		switch is := now[m.ID()]; {
		case is.Fact == nil:
			one.LaterChange = "gone"
		case is.Status() == memory.Superseded:
			one.LaterChange = "replaced since"
		case is.Status() != memory.Active:
			one.LaterChange = "forgotten since"
		case is.Content() != m.Content():
			one.LaterChange = "edited since"
		}
		out = append(out, one)
	}
	return out, nil
}

// changesByDay groups changes, newest first, by day.
func (p *Page) changesByDay(changes []memory.Change) []dayChanges {
	var out []dayChanges
	for _, c := range changes {
		day := midnight(c.At.In(p.Zone))
		if len(out) == 0 || !out[len(out)-1].Day.Equal(day) {
			out = append(out, dayChanges{Day: day})
		}
		last := &out[len(out)-1]
		last.Steps = append(last.Steps, historyStepOf(c))
	}
	return out
}
