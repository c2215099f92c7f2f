package ownerdata

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	defaultPageSize = 50
	maxPageSize     = 500
)

// CopyMemory returns a deep copy of a memory.
func CopyMemory(m memory.Memory) memory.Memory {
	switch {
	case m.Link != nil:
		return MemoryOf(memory.State{Link: m.Link})
	case m.Turn != nil:
		t := copyTurn(*m.Turn)
		return memory.Memory{Turn: &t}
	}
	return MemoryOf(memory.State{Fact: m.Fact, Summary: m.Summary})
}

// memoriesAt returns copies of all memories at a time. The zero time means now.
func (s *Data) memoriesAt(asOf time.Time) []memory.Memory {
	var all []memory.Memory
	for _, state := range s.statesAt(asOf) {
		if m := MemoryOf(state); m.Kind() != "" {
			all = append(all, m)
		}
	}
	for _, t := range s.turnsAt(asOf) {
		all = append(all, memory.Memory{Turn: &t})
	}
	return all
}

// Counts returns the number of memories, changes and jobs: see [memory.Facts].
func (s *Data) Counts() memory.Counts {
	n := memory.Counts{Changes: len(s.Journal)}
	for _, c := range s.Conversations {
		if c.Status == memory.Active {
			n.Conversations++
		}
	}
	for _, state := range s.States {
		if state.Context != nil && state.Context.Status == memory.Active {
			n.Contexts++
		}
	}
	for _, m := range s.memoriesAt(time.Time{}) {
		switch {
		case m.Fact != nil && m.Status() == memory.Pending:
			n.Pending++
		case m.Status() != memory.Active:
		case m.Fact != nil:
			n.Facts++
		case m.Turn != nil:
			n.Turns++
		case m.Summary != nil:
			n.Summaries++
		}
	}
	for _, j := range s.Jobs {
		switch j.State {
		case memory.JobQueued:
			if n.JobsQueued++; n.JobsQueued == 1 || j.RunAt.Before(n.JobsDue) {
				n.JobsDue = j.RunAt
			}
		case memory.JobParked:
			n.JobsParked++
		}
	}
	return n
}

// ListPosition is a position in a list, newest first. Its JSON is a cursor.
type ListPosition struct {
	At time.Time
	ID string
}

func (p ListPosition) compare(q ListPosition) int {
	return cmp.Or(q.At.Compare(p.At), strings.Compare(q.ID, p.ID))
}

// PageAfter sorts items by position, and returns the page after the cursor and the cursor of the next
// page, "" if this page is the last.
func PageAfter[T any](items []T, limit int, cursor string, position func(T) ListPosition) ([]T, string, error) {
	slices.SortFunc(items, func(a, b T) int { return position(a).compare(position(b)) })
	if cursor != "" {
		cursorPosition, err := DecodeCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		items = slices.DeleteFunc(items, func(x T) bool { return position(x).compare(cursorPosition) <= 0 })
	}
	limit = PageSize(limit)
	if len(items) <= limit {
		return items, "", nil
	}
	items = items[:limit]
	return items, EncodeCursor(position(items[limit-1])), nil
}

// EncodeCursor returns the cursor of a position.
func EncodeCursor(p ListPosition) string {
	text, _ := json.Marshal(p) // a time and a string can always be encoded
	return base64.RawURLEncoding.EncodeToString(text)
}

// DecodeCursor returns the position in a cursor. The page begins after this position.
func DecodeCursor(cursor string) (ListPosition, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return ListPosition{}, memory.Errorf(memory.Invalid, "invalid cursor %q", cursor)
	}
	var p ListPosition
	if err := json.Unmarshal(text, &p); err != nil {
		return ListPosition{}, memory.Errorf(memory.Invalid, "invalid cursor %q", cursor)
	}
	return p, nil
}

// PageSize returns the page size for a requested size, at most maxPageSize; 0 requests the default.
func PageSize(requested int) int {
	if requested <= 0 {
		return defaultPageSize
	}
	return min(requested, maxPageSize)
}

// Get returns memories by id: see [memory.Facts].
func (s *Data) Get(ids ...string) []memory.Memory {
	all := map[string][]memory.Memory{}
	for _, m := range s.memoriesAt(time.Time{}) {
		all[m.ID()] = append(all[m.ID()], m)
	}
	var found []memory.Memory
	for _, id := range ids {
		for _, m := range all[id] {
			found = append(found, CopyMemory(m))
		}
	}
	return found
}

// List returns the memories that match a query: see [memory.Facts].
func (s *Data) List(q memory.Query) (memory.Page, error) {
	matching := slices.DeleteFunc(s.memoriesAt(q.At.AsOf), func(m memory.Memory) bool { return !q.Matches(m) })
	found, next, err := PageAfter(matching, q.Limit, q.Cursor, func(m memory.Memory) ListPosition { return ListPosition{m.CreatedAt(), m.ID()} })
	return memory.Page{Memories: found, Next: next}, err
}

// Profile returns the active profile entries: see [memory.Facts].
func (s *Data) Profile(at memory.At) []memory.ProfileEntry {
	var entries []memory.ProfileEntry
	for _, state := range s.statesAt(at.AsOf) {
		if state.Profile != nil && state.Profile.Status == memory.Active {
			entries = append(entries, *state.Profile)
		}
	}
	slices.SortFunc(entries, func(a, b memory.ProfileEntry) int { return cmp.Compare(a.Key, b.Key) })
	return entries
}

// Contexts returns the active contexts: see [memory.Facts].
func (s *Data) Contexts(at memory.At, ids ...string) []memory.Context {
	var contexts []memory.Context
	for _, state := range s.statesAt(at.AsOf) {
		c := state.Context
		if c != nil && c.Status == memory.Active && (len(ids) == 0 || slices.Contains(ids, c.ID)) {
			contexts = append(contexts, *c)
		}
	}
	slices.SortFunc(contexts, func(a, b memory.Context) int { return cmp.Compare(a.ID, b.ID) })
	return contexts
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Data) Relations(factID string, at memory.At) []memory.Relation {
	var relations []memory.Relation
	for _, state := range s.statesAt(at.AsOf) {
		r := state.Relation
		if r != nil && r.Status == memory.Active && (r.From == factID || r.To == factID) {
			relations = append(relations, *r)
		}
	}
	slices.SortFunc(relations, func(a, b memory.Relation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
	return relations
}
