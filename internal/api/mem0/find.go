package mem0

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

const (
	maxTopK         = 500 // maximum of top_k
	defaultTopK     = 10  // default of top_k
	defaultPageSize = 100
	maxPageSize     = 1000
	walkPageSize    = 500
)

// item is a memory in mem0's format.
type item struct {
	ID         string          `json:"id"`
	Content    string          `json:"memory"`
	User       *string         `json:"user_id"`
	Agent      *string         `json:"agent_id"`
	App        *string         `json:"app_id"`
	Run        *string         `json:"run_id"`
	Hash       string          `json:"hash,omitempty"`
	Metadata   json.RawMessage `json:"metadata"`
	Categories []string        `json:"categories"`
	Created    time.Time       `json:"created_at"`
	Updated    time.Time       `json:"updated_at"`
	Expires    *string         `json:"expiration_date"`
	Score      *float64        `json:"score,omitempty"`
}

func itemOf(c caller, m memory.Memory) item {
	labels := c.idsOf(m)
	out := item{
		ID: c.clientID(m.ID()), Content: m.Content(), User: nilIfEmpty(labels.User), Agent: nilIfEmpty(labels.Agent), App: nilIfEmpty(labels.App), Run: nilIfEmpty(labels.Run),
		Hash: m.Fact.Hash, Metadata: m.Fact.Metadata, Categories: []string{}, Created: m.CreatedAt(), Updated: m.Fact.UpdatedAt,
	}
	if m.Fact.Category != "" {
		out.Categories = append(out.Categories, m.Fact.Category)
	}
	out.Categories = append(out.Categories, m.Fact.Tags...)
	if at := m.Fact.ExpiresAt; !at.IsZero() {
		out.Expires = new(at.Add(-1).Format(time.DateOnly))
	}
	return out
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// findBody is the request body of a search or list.
type findBody struct {
	ids
	Query       string         `json:"query"`
	Filters     map[string]any `json:"filters"`
	Categories  []any          `json:"categories"`
	Start       any            `json:"start_date"`
	End         any            `json:"end_date"`
	TopK        *int           `json:"top_k"`
	Limit       *int           `json:"limit"`
	Threshold   *float64       `json:"threshold"`
	ShowExpired bool           `json:"show_expired"`
	Format      string         `json:"output_format"`
}

// selection is the owner and the filters of a search or list.
type selection struct {
	caller
	filter
	validAt time.Time // facts that expired before this time are excluded; the zero time excludes no fact
}

func (h *handler) newSelection(c *call, b findBody) (w selection, err error) {
	sent := map[string]any{"AND": []any{b.Filters}}
	if len(b.Categories) > 0 {
		sent["categories"] = b.Categories
	}
	for n, v := range b.ids.fields() {
		if *v != "" {
			sent[idNames[n]] = *v
		}
	}
	switch {
	case b.Start != nil || b.End != nil:
		return w, errUnsupportedFilter("start_date")
	case !b.ShowExpired:
		w.validAt = h.engine.Now()
	}
	if err := w.addConditions(sent); err != nil {
		return w, err
	}
	if err := w.validate(); err != nil {
		return w, err
	}
	w.caller, err = h.callerFor(c, w.ownerName())
	return w, err
}

// includes reports whether a fact is selected.
func (w *selection) includes(m memory.Memory) bool {
	at := m.Fact.ExpiresAt
	return w.hasIDs(m, w.ids, true) && (w.validAt.IsZero() || at.IsZero() || w.validAt.Before(at))
}

func (h *handler) searchMemories(c *call) (any, error) {
	var b findBody
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	query := strings.TrimSpace(b.Query)
	switch {
	case query == "":
		return nil, memory.Errorf(memory.Invalid, "query: is empty")
	case len(query) > maxQueryBytes:
		return nil, memory.Errorf(memory.TooLarge, "query: longer than %d bytes", maxQueryBytes)
	}
	k := defaultTopK
	for _, n := range []*int{b.Limit, b.TopK} {
		if n != nil {
			k = *n
		}
	}
	if k < 1 {
		return nil, memory.Errorf(memory.Invalid, "top_k: %d is less than 1", k)
	}
	k = min(k, maxTopK)
	w, err := h.newSelection(c, b)
	if err != nil {
		return nil, err
	}
	for topK := k; ; topK = maxTopK { // the engine's results are filtered here, so request more if too few remain
		found, err := h.engine.Retrieve.Recall(c.Context(), retrieve.Question{
			Scope: memory.Scope{Owner: w.owner}, Text: query, TopK: &topK, ScoreThreshold: b.Threshold,
			Kinds: []memory.Kind{memory.KindFact}, Category: w.Category, API: "mem0",
		})
		if err != nil {
			return nil, err
		}
		out := []item{}
		for _, hit := range found.Hits {
			if hit.Memory.Fact != nil && w.includes(hit.Memory) {
				shown := itemOf(w.caller, hit.Memory)
				shown.Score = &hit.Score
				out = append(out, shown)
			}
		}
		if len(out) >= k || len(found.Hits) < topK || topK == maxTopK {
			return c.listResponse(out[:min(k, len(out))], b.Format), nil
		}
	}
}

// listResponse returns the response for a list without pages. In version 1, that is the list itself, unless format is v1.1.
func (c *call) listResponse(items any, format string) any {
	if c.version == "v1" && format != "v1.1" {
		return items
	}
	return map[string]any{"results": items}
}

// walkMemories calls visit for each of an owner's memories that match a query, newest first.
func (h *handler) walkMemories(c *call, owner memory.Owner, q memory.Query, visit func(memory.Memory)) error {
	q.Limit = walkPageSize
	for m, err := range memory.AllMemories(c.Context(), h.engine.List, owner, q) {
		if err != nil {
			return err
		}
		visit(m)
	}
	return nil
}

// pageResponse is a page of a list, with the length of the whole list.
type pageResponse struct {
	Count    int     `json:"count"`
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  any     `json:"results"`
}

// pageRequest is the number of the requested page, from 1, and the maximum number of items per page.
type pageRequest struct{ number, size int }

func (w pageRequest) firstIndex() int { return (w.number - 1) * w.size }

func pageRequestOf(query url.Values) (pageRequest, error) {
	w := pageRequest{1, defaultPageSize}
	for _, p := range []struct {
		name string
		most int
		into *int
	}{{"page", 1 << 30, &w.number}, {"limit", maxPageSize, &w.size}, {"top_k", maxPageSize, &w.size}, {"page_size", maxPageSize, &w.size}} {
		text := query.Get(p.name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return w, memory.Errorf(memory.Invalid, "%s: must be a number of at least 1", p.name)
		}
		*p.into = min(n, p.most)
	}
	return w, nil
}

// response returns the page with links to the previous and the next page.
func (w pageRequest) response(c *call, count int, results any) pageResponse {
	path, _, _ := strings.Cut(c.RequestURI, "?")
	at := func(page int) *string {
		q := c.URL.Query()
		q.Set("page", strconv.Itoa(page))
		q.Set("page_size", strconv.Itoa(w.size))
		return new(path + "?" + q.Encode())
	}
	out := pageResponse{Count: count, Results: results}
	if w.number > 1 {
		out.Previous = at(w.number - 1)
	}
	if count-w.firstIndex() > w.size {
		out.Next = at(w.number + 1)
	}
	return out
}

func (h *handler) listMemories(c *call) (any, error) {
	var b findBody
	if c.Method == "GET" {
		var err error
		if b.ids, err = idsFromQuery(c.query); err != nil {
			return nil, err
		}
		b.Format = c.query.Get("output_format")
	} else if err := c.decode(&b); err != nil {
		return nil, err
	}
	page, err := pageRequestOf(c.query)
	if err != nil {
		return nil, err
	}
	w, err := h.newSelection(c, b)
	if err != nil {
		return nil, err
	}
	unpaged := c.Method == "GET" && !c.query.Has("page") && !c.query.Has("page_size")
	all := unpaged && !c.query.Has("limit") && !c.query.Has("top_k")
	count, results := 0, []item{}
	if err := h.walkMemories(c, w.owner, memory.Query{Category: w.Category}, func(m memory.Memory) {
		if !w.includes(m) {
			return
		}
		if all || count >= page.firstIndex() && len(results) < page.size {
			results = append(results, itemOf(w.caller, m))
		}
		count++
	}); err != nil {
		return nil, err
	}
	if unpaged {
		return c.listResponse(results, b.Format), nil
	}
	return page.response(c, count, results), nil
}
