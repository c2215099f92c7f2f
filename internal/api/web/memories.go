package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

const (
	// listPageSize is the number of memories on a page of the list, and maxHits the maximum number of search
	// results.
	listPageSize = 25
	maxHits      = 20

	// maxFacetFacts is the number of newest facts that are read to collect the filter's categories and tags.
	maxFacetFacts = 500
)

// listFilter contains the parameters of the list of memories: the search text Q, filters, and the id of the memory to edit.
type listFilter struct {
	Q, Kind, Status, Category, Tag, Project, AsOf, Cursor, EditedID string
}

func listFilterOf(q url.Values) listFilter {
	return listFilter{
		Q: strings.TrimSpace(q.Get("q")), Kind: q.Get("kind"), Status: q.Get("status"), Category: q.Get("category"),
		Tag: strings.TrimSpace(q.Get("tag")), Project: q.Get("project"), AsOf: q.Get("as_of"), Cursor: q.Get("cursor"), EditedID: q.Get("edit"),
	}
}

// hasFilter reports whether there is a filter other than the search text.
func (a listFilter) hasFilter() bool { return a.Kind+a.Status+a.Category+a.Tag+a.Project+a.AsOf != "" }

// Any reports whether a filter or a search text is set.
func (a listFilter) Any() bool { return a.Q != "" || a.hasFilter() }

// With returns the address of the list with one filter changed.
func (a listFilter) With(key, value string) string {
	q := url.Values{}
	for k, v := range map[string]string{"q": a.Q, "kind": a.Kind, "status": a.Status, "category": a.Category, "tag": a.Tag, "project": a.Project, "as_of": a.AsOf, "cursor": a.Cursor} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if key != "cursor" && key != "edit" {
		q.Del("cursor")
	}
	q.Set(key, value)
	if value == "" {
		q.Del(key)
	}
	return (&url.URL{Path: "/", RawQuery: q.Encode()}).String()
}

// row is one memory in a list.
type row struct {
	client.Memory
	Back        string    // page to which the row's forms return
	EditAt      string    // address at which the memory is open for editing
	Editing     bool      // the memory is open for editing
	Why         *scoreBar // explanation of the score; nil outside of search results
	CutReason   string    // reason why the search omitted the memory
	Now         []string  // facts that replaced a turn's statements
	Was         []string  // facts that a fact replaced
	LaterChange string    // change of a fact after the past day that the page shows; otherwise ""
}

// CanEdit reports whether the memory is a fact that can be changed.
func (r row) CanEdit() bool { return r.Kind == memory.KindFact && r.Status.Live() && r.Home == "" }

// CanRestore reports whether the memory is a fact that can be restored.
func (r row) CanRestore() bool {
	return r.Kind == memory.KindFact && r.Home == "" && r.Content != "" && slices.Contains([]memory.Status{memory.Superseded, memory.Retired, memory.Rejected}, r.Status)
}

// Path is the address of a memory's own page.
func (r row) Path() string { return memoryPath(r.Memory) }

func memoryViews(memories []memory.Memory) (out []client.Memory) {
	for _, m := range memories {
		out = append(out, client.View(m))
	}
	return out
}

func memoryPath(m client.Memory) string {
	switch {
	case m.Kind == memory.KindTurn:
		return "/conversations/" + url.PathEscape(m.Conversation) + "?turn=" + url.QueryEscape(m.ID) + "#t-" + url.PathEscape(m.ID)
	case m.Kind == memory.KindSummary:
		return "/conversations/" + url.PathEscape(m.Conversation)
	case m.Kind == recall.KindProfile:
		return "/profile"
	}
	return "/memories/" + url.PathEscape(m.ID)
}

// memoriesView is the list of memories, or the result of a search.
type memoriesView struct {
	Filter     listFilter
	Here       string // path and query of this view
	Rows       []row
	Omitted    []row // candidates that the search omitted
	Searched   bool  // the fields below describe a search
	Candidates int   // number of candidates of the search
	Took       time.Duration
	Trace      string // id of the search's trace
	Misspelt   []memory.Misspelt
	Degraded   []string // parts of the search that were skipped, with reasons
	Total      int      // active facts
	Next       string   // cursor of the next page
	Categories []string
	Tags       []string
}

func (p *Page) memoriesView(r *http.Request, v visit) (any, error) {
	a := listFilterOf(r.URL.Query())
	at, err := p.parseDay(a.AsOf)
	if err != nil {
		return nil, err
	}
	view := memoriesView{Filter: a, Here: viewURL(r)}
	counts, err := p.engine.Stats(r.Context(), v.owner)
	if err != nil {
		return nil, err
	}
	view.Total = counts.Facts
	if view.Categories, view.Tags, err = p.filterChoices(r, v, a); err != nil {
		return nil, err
	}
	if a.Q != "" && (a.Status == "" || a.Status == string(memory.Active)) {
		return p.searchView(r, v, view, at)
	}
	q := memory.Query{Category: a.Category, Tag: a.Tag, Project: a.Project, Text: a.Q, At: at, Limit: listPageSize, Cursor: a.Cursor}
	if a.Kind != "" {
		q.Kinds = []memory.Kind{memory.Kind(a.Kind)}
	}
	if a.Status != "" {
		q.Statuses = []memory.Status{memory.Status(a.Status)}
	}
	page, err := p.engine.List(r.Context(), v.owner, q)
	if err != nil {
		return nil, err
	}
	for _, m := range page.Memories {
		view.Rows = append(view.Rows, rowOf(m, a, view.Here))
	}
	view.Next = page.Next
	return view, nil
}

func rowOf(m memory.Memory, filter listFilter, returnTo string) row {
	return row{Memory: client.View(m), Back: returnTo, EditAt: filter.With("edit", m.ID()) + "#m-" + m.ID(), Editing: filter.EditedID == m.ID()}
}

// parseDay returns the last moment of a day; "" means the present.
func (p *Page) parseDay(day string) (memory.At, error) {
	if day == "" {
		return memory.At{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, day, p.Zone)
	if err != nil {
		return memory.At{}, memory.Errorf(memory.Invalid, "invalid day %q (example: 2026-11-21)", clip(20, day))
	}
	return memory.At{AsOf: t.AddDate(0, 0, 1).Add(-time.Microsecond)}, nil
}

// headerTyping marks a search that page.js sends while the user types; no trace of this search is stored.
const headerTyping = "X-Loci-Typing"

// searchView runs a search and reads the omitted candidates from the search's trace.
func (p *Page) searchView(r *http.Request, v visit, view memoriesView, at memory.At) (any, error) {
	a, topK, recency := view.Filter, maxHits, p.RecencyWeight
	q := retrieve.Question{
		Scope: memory.Scope{Owner: v.owner, Project: a.Project}, Text: a.Q, TopK: &topK, RecencyWeight: &recency,
		Category: a.Category, Tag: a.Tag, At: at, API: "page", Untraced: r.Header.Get(headerTyping) != "",
	}
	if a.Kind != "" {
		q.Kinds = []memory.Kind{memory.Kind(a.Kind)}
	}
	found, err := p.engine.Retrieve.Recall(r.Context(), q)
	if err != nil {
		return nil, err
	}
	view.Searched, view.Trace, view.Misspelt, view.Degraded = true, found.TraceID, found.Misspelt, found.Degraded
	for _, h := range found.Hits {
		one := rowOf(h.Memory, a, view.Here)
		one.Why = scoreBarOf(h.Score, h.Why, recency)
		for _, f := range h.Replacements {
			one.Now = append(one.Now, cmp.Or(f.Content, "(no longer true)"))
		}
		for _, f := range h.Predecessors {
			one.Was = append(one.Was, f.Content)
		}
		view.Rows = append(view.Rows, one)
	}
	if found.TraceID == "" {
		return view, nil
	}
	t, err := p.engine.Traces.Trace(r.Context(), v.owner, found.TraceID)
	if err != nil { // under heavy load, the oldest traces are dropped
		return view, nil
	}
	view.Candidates, view.Took = t.Found, t.Took
	if view.Omitted, err = p.omittedRows(r, v, t, view.Here); err != nil {
		return nil, fmt.Errorf("read the omitted candidates: %w", err)
	}
	return view, nil
}

// memoriesByID returns memories by id. It omits ids that do not exist.
func (p *Page) memoriesByID(r *http.Request, v visit, ids ...string) (map[string]memory.Memory, error) {
	found, err := p.engine.Store.Get(r.Context(), v.owner, ids...)
	out := make(map[string]memory.Memory, len(found))
	for _, m := range found {
		out[m.ID()] = m
	}
	return out, err
}

// hitRows returns a trace's memories in their current state, or the traced text of memories that no longer exist.
func (p *Page) hitRows(r *http.Request, v visit, hits []memory.TraceHit, returnTo string) (rows []row, err error) {
	ids := make([]string, 0, len(hits))
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	byID, err := p.memoriesByID(r, v, ids...)
	for _, h := range hits {
		one := row{Memory: client.Memory{ID: h.ID, Kind: h.Kind}, Back: returnTo, Why: scoreBarOf(h.Score, h.Why, p.RecencyWeight), CutReason: cmp.Or(omissionReasons[h.Cut], h.Cut)}
		if m, ok := byID[h.ID]; ok {
			one.Memory = client.View(m)
		}
		one.Content = cmp.Or(one.Content, h.Content, h.ID)
		rows = append(rows, one)
	}
	return rows, err
}

// omittedRows returns the candidates that a search omitted and that still exist, best first. Profile entries are
// always returned, because they cannot be looked up by id.
func (p *Page) omittedRows(r *http.Request, v visit, t memory.Trace, returnTo string) ([]row, error) {
	rows, err := p.hitRows(r, v, t.Cut, returnTo)
	return slices.DeleteFunc(rows, func(r row) bool { return r.Status == "" && r.Kind != recall.KindProfile }), err
}

// filterChoices returns the categories and tags to choose from, including the chosen category and tag.
func (p *Page) filterChoices(r *http.Request, v visit, filter listFilter) (categories, tags []string, err error) {
	page, err := p.engine.List(r.Context(), v.owner, memory.Query{Limit: maxFacetFacts})
	if err != nil {
		return nil, nil, err
	}
	categories, tags = []string{filter.Category}, []string{filter.Tag}
	for _, m := range page.Memories {
		categories = append(categories, m.Fact.Category)
		tags = append(tags, m.Fact.Tags...)
	}
	return distinct(categories), distinct(tags), nil
}

// distinct sorts the values and removes duplicates and "".
func distinct(values []string) []string {
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) > 0 && values[0] == "" {
		values = values[1:]
	}
	return values
}
