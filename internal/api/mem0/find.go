package mem0

import (
	"cmp"
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
	mostHits  = 500 // that the engine is asked for
	hits      = 10  // without top_k
	pageSize  = 100
	mostPaged = 1000
	walkPage  = 500
)

// item is a memory as mem0 shows it.
type item struct {
	ID         string          `json:"id"`
	Memory     string          `json:"memory"`
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

// itemOf shows a fact.
func itemOf(c caller, m memory.Memory) item {
	r := recordOf(c, m)
	out := item{
		ID: c.outside(m.ID()), Memory: m.Content(), User: orNull(r.User), Agent: orNull(r.Agent), App: orNull(r.App), Run: orNull(r.Run),
		Hash: m.Fact.Hash, Metadata: m.Fact.Metadata, Categories: categories(m), Created: m.CreatedAt(), Updated: updatedAt(m),
	}
	if at := m.Fact.ExpiresAt; !at.IsZero() {
		out.Expires = new(at.Add(-1).Format(time.DateOnly))
	}
	return out
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// findBody is what a search and a list may send.
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

// wanted is what a search or a list lets through.
type wanted struct {
	callers []caller
	narrow  bool // more than the owner is asked for
	lets    condition
}

// wanted reads whose memories a request is about, and which.
func (h *handler) wanted(c *call, b findBody) (wanted, error) {
	if err := b.ids.check(); err != nil {
		return wanted{}, err
	}
	f, parts := filter{}, []any{b.Filters}
	for n, v := range b.ids.all() {
		if *v != "" {
			parts = append(parts, map[string]any{idNames[n]: *v})
		}
	}
	if len(b.Categories) > 0 {
		parts = append(parts, map[string]any{"categories": b.Categories})
	}
	for op, at := range map[string]any{"gte": b.Start, "lte": b.End} {
		if at != nil {
			parts = append(parts, map[string]any{"created_at": map[string]any{op: at}})
		}
	}
	lets, err := f.logic("AND", parts, true)
	if err != nil {
		return wanted{}, err
	}
	callers, err := h.callers(c, f.users)
	if err != nil {
		return wanted{}, err
	}
	now := h.engine.Now()
	live := func(r *record) bool {
		at := r.memory.Fact.ExpiresAt
		return b.ShowExpired || at.IsZero() || now.Before(at)
	}
	return wanted{callers, f.parts > 0, every([]condition{live, lets})}, nil
}

func (h *handler) search(c *call) (any, error) {
	var b findBody
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	query := strings.TrimSpace(b.Query)
	switch {
	case query == "":
		return nil, memory.Errorf(memory.Invalid, "query: is empty")
	case len(query) > longQuery:
		return nil, memory.Errorf(memory.TooLarge, "query: longer than %d bytes", longQuery)
	}
	k := hits
	for _, n := range []*int{b.Limit, b.TopK} {
		if n != nil {
			k = *n
		}
	}
	if k < 1 {
		return nil, memory.Errorf(memory.Invalid, "top_k: %d is less than 1", k)
	}
	k = min(k, mostHits)
	w, err := h.wanted(c, b)
	if err != nil {
		return nil, err
	}
	found := []item{}
	for _, one := range w.callers {
		some, err := h.searchOf(c, one, w, query, k, b.Threshold)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	slices.SortStableFunc(found, func(a, b item) int { return cmp.Compare(*b.Score, *a.Score) })
	found = found[:min(k, len(found))]
	return c.results(found, b.Format), nil
}

// searchOf searches one owner's memory. What is not let through is left out of what the
// engine finds: it is asked for more, and once more for as much as it finds.
func (h *handler) searchOf(c *call, one caller, w wanted, query string, k int, threshold *float64) ([]item, error) {
	asked := k
	if w.narrow {
		asked = min(4*k, mostHits)
	}
	for {
		found, err := h.engine.Retrieve.Recall(c.Context(), retrieve.Question{
			Scope: memory.Scope{Owner: one.owner}, Text: query, TopK: &asked, ScoreThreshold: threshold,
			Kinds: []memory.Kind{memory.KindFact}, Door: "mem0",
		})
		if err != nil {
			return nil, err
		}
		var out []item
		for _, hit := range found.Hits {
			if hit.Memory.Fact != nil && w.lets(recordOf(one, hit.Memory)) {
				shown := itemOf(one, hit.Memory)
				shown.Score = &hit.Score
				out = append(out, shown)
			}
		}
		if len(out) >= k || len(found.Hits) < asked || asked == mostHits {
			return out[:min(k, len(out))], nil
		}
		asked = mostHits
	}
}

// results is a list that has no pages; the first version answers it bare.
func (c *call) results(all any, format string) any {
	if c.version == "v1" && format != "v1.1" {
		return all
	}
	return map[string]any{"results": all}
}

// walk calls visit with all of an owner's memories that a query selects, newest first.
func (h *handler) walk(c *call, owner memory.Owner, q memory.Query, visit func(memory.Memory)) error {
	q.Limit = walkPage
	for m, err := range memory.AllMemories(c.Context(), h.engine.List, owner, q) {
		if err != nil {
			return err
		}
		visit(m)
	}
	return nil
}

// paged is a page of a list whose whole length is known.
type paged struct {
	Count    int     `json:"count"`
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  any     `json:"results"`
}

// window is the page that a request asks for.
type window struct{ page, size int }

func (w window) first() int { return (w.page - 1) * w.size }

func windowOf(query url.Values) (window, error) {
	w := window{1, pageSize}
	for _, p := range []struct {
		name string
		most int
		into *int
	}{{"page", 1 << 30, &w.page}, {"limit", mostPaged, &w.size}, {"top_k", mostPaged, &w.size}, {"page_size", mostPaged, &w.size}} {
		text := query.Get(p.name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return w, memory.Errorf(memory.Invalid, "%s: is not a number from 1 on", p.name)
		}
		*p.into = min(n, p.most)
	}
	return w, nil
}

// of returns the page itself, with where the ones around it are.
func (w window) of(c *call, count int, results any) paged {
	path, _, _ := strings.Cut(c.RequestURI, "?")
	at := func(page int) *string {
		q := c.URL.Query()
		q.Set("page", strconv.Itoa(page))
		q.Set("page_size", strconv.Itoa(w.size))
		return new(path + "?" + q.Encode())
	}
	out := paged{Count: count, Results: results}
	if w.page > 1 {
		out.Previous = at(w.page - 1)
	}
	if count-w.first() > w.size {
		out.Next = at(w.page + 1)
	}
	return out
}

func (h *handler) list(c *call) (any, error) {
	var b findBody
	if c.Method == "GET" {
		var err error
		if b.ids, err = idsIn(c.query); err != nil {
			return nil, err
		}
		b.Format = c.query.Get("output_format")
	} else if err := c.decode(&b); err != nil {
		return nil, err
	}
	page, err := windowOf(c.query)
	if err != nil {
		return nil, err
	}
	w, err := h.wanted(c, b)
	if err != nil {
		return nil, err
	}
	unpaged := c.Method == "GET" && !c.query.Has("page") && !c.query.Has("page_size")
	all := unpaged && !c.query.Has("limit") && !c.query.Has("top_k")
	count, results := 0, []item{}
	for _, one := range w.callers {
		if err := h.walk(c, one.owner, memory.Query{}, func(m memory.Memory) {
			if !w.lets(recordOf(one, m)) {
				return
			}
			if all || count >= page.first() && len(results) < page.size {
				results = append(results, itemOf(one, m))
			}
			count++
		}); err != nil {
			return nil, err
		}
	}
	if unpaged {
		return c.results(results, b.Format), nil
	}
	return page.of(c, count, results), nil
}
