package shelf

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
	defaultLimit = 50
	maxLimit     = 500
)

// CopyMemory returns a deep copy of a memory.
func CopyMemory(m memory.Memory) memory.Memory {
	switch {
	case m.Link != nil:
		return Memory(memory.Image{Link: m.Link})
	case m.Turn != nil:
		t := copyTurn(*m.Turn)
		return memory.Memory{Turn: &t}
	}
	return Memory(memory.Image{Fact: m.Fact, Summary: m.Summary})
}

// memoriesAt returns copies of all memories at a time. The zero time means now.
func (s *Shelf) memories(asOf time.Time) []memory.Memory {
	var all []memory.Memory
	for _, image := range s.imagesAt(asOf) {
		if m := Memory(image); m.Kind() != "" {
			all = append(all, m)
		}
	}
	for _, t := range s.turnsAt(asOf) {
		all = append(all, memory.Memory{Turn: &t})
	}
	return all
}

// Counts returns the number of memories, changes and jobs: see [memory.Facts].
func (s *Shelf) Counts() memory.Counts {
	n := memory.Counts{Changes: len(s.Journal)}
	for _, c := range s.Conversations {
		if c.Status == memory.Active {
			n.Conversations++
		}
	}
	for _, image := range s.Things {
		if image.Context != nil && image.Context.Status == memory.Active {
			n.Contexts++
		}
	}
	for _, m := range s.memories(time.Time{}) {
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
type Place struct {
	At time.Time
	ID string
}

func (p Place) compare(q Place) int {
	return cmp.Or(q.At.Compare(p.At), strings.Compare(q.ID, p.ID))
}

// PageAfter sorts items by position, and returns the page after the cursor with the cursor of the next
// page, "" if there is none.
func PageAfter[T any](all []T, limit int, cursor string, at func(T) Place) ([]T, string, error) {
	slices.SortFunc(all, func(a, b T) int { return at(a).compare(at(b)) })
	if cursor != "" {
		after, err := ReadCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		all = slices.DeleteFunc(all, func(x T) bool { return at(x).compare(after) <= 0 })
	}
	limit = PageSize(limit)
	if len(all) <= limit {
		return all, "", nil
	}
	all = all[:limit]
	return all, WriteCursor(at(all[limit-1])), nil
}

// EncodeCursor returns the cursor of a position.
func WriteCursor(p Place) string {
	text, _ := json.Marshal(p) // a time and a string can always be encoded
	return base64.RawURLEncoding.EncodeToString(text)
}

// DecodeCursor returns the position of a cursor, after which a page starts.
func ReadCursor(cursor string) (Place, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return Place{}, memory.Errorf(memory.Invalid, "invalid cursor %q", cursor)
	}
	var p Place
	if err := json.Unmarshal(text, &p); err != nil {
		return Place{}, memory.Errorf(memory.Invalid, "invalid cursor %q", cursor)
	}
	return p, nil
}

// PageSize returns the page size for a requested size; 0 requests the default.
func PageSize(asked int) int {
	if asked <= 0 {
		return defaultLimit
	}
	return min(asked, maxLimit)
}

// Get returns memories by id: see [memory.Facts].
func (s *Shelf) Get(ids ...string) []memory.Memory {
	all := map[string][]memory.Memory{}
	for _, m := range s.memories(time.Time{}) {
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
func (s *Shelf) List(q memory.Query) (memory.Page, error) {
	matching := slices.DeleteFunc(s.memories(q.At.AsOf), func(m memory.Memory) bool { return !q.Matches(m) })
	found, next, err := PageAfter(matching, q.Limit, q.Cursor, func(m memory.Memory) Place { return Place{m.CreatedAt(), m.ID()} })
	return memory.Page{Memories: found, Next: next}, err
}

// Profile returns the active profile entries: see [memory.Facts].
func (s *Shelf) Profile(at memory.At) []memory.ProfileEntry {
	var entries []memory.ProfileEntry
	for _, image := range s.imagesAt(at.AsOf) {
		if image.Profile != nil && image.Profile.Status == memory.Active {
			entries = append(entries, *image.Profile)
		}
	}
	slices.SortFunc(entries, func(a, b memory.ProfileEntry) int { return cmp.Compare(a.Key, b.Key) })
	return entries
}

// Contexts returns the active contexts: see [memory.Facts].
func (s *Shelf) Contexts(at memory.At, ids ...string) []memory.Context {
	var contexts []memory.Context
	for _, image := range s.imagesAt(at.AsOf) {
		c := image.Context
		if c != nil && c.Status == memory.Active && (len(ids) == 0 || slices.Contains(ids, c.ID)) {
			contexts = append(contexts, *c)
		}
	}
	slices.SortFunc(contexts, func(a, b memory.Context) int { return cmp.Compare(a.ID, b.ID) })
	return contexts
}

// Relations returns the active relations of a fact: see [memory.Facts].
func (s *Shelf) Relations(fact string, at memory.At) []memory.Relation {
	var relations []memory.Relation
	for _, image := range s.imagesAt(at.AsOf) {
		r := image.Relation
		if r != nil && r.Status == memory.Active && (r.From == fact || r.To == fact) {
			relations = append(relations, *r)
		}
	}
	slices.SortFunc(relations, func(a, b memory.Relation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
	return relations
}
