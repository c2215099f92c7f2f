package inmem

import (
	"cmp"
	"context"
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

// Get returns memories by id.
func (s *Store) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	var found []memory.Memory
	err := s.read(ctx, owner, func(sh *shelf) error {
		all := sh.memories(time.Time{})
		for _, id := range ids {
			for _, m := range all {
				if m.ID() == id {
					found = append(found, copyMemory(m))
				}
			}
		}
		return nil
	})
	return found, err
}

func copyMemory(m memory.Memory) memory.Memory {
	switch {
	case m.Link != nil:
		return asMemory(memory.Image{Link: m.Link})
	case m.Turn != nil:
		t := copyTurn(*m.Turn)
		return memory.Memory{Turn: &t}
	}
	return asMemory(memory.Image{Fact: m.Fact, Summary: m.Summary})
}

// List returns the memories that match.
func (s *Store) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	var page memory.Page
	err := s.read(ctx, owner, func(sh *shelf) error {
		matching := slices.DeleteFunc(sh.memories(q.At.AsOf), func(m memory.Memory) bool { return !q.Matches(m) })
		var err error
		page.Memories, page.Next, err = cut(matching, q.Limit, q.Cursor, func(m memory.Memory) place {
			return place{m.CreatedAt(), m.ID()}
		})
		return err
	})
	return page, err
}

// memories returns copies of all memories as they were at asOf, or as they are.
func (s *shelf) memories(asOf time.Time) []memory.Memory {
	var all []memory.Memory
	for _, image := range s.imagesAt(asOf) {
		if m := asMemory(image); m.Kind() != "" {
			all = append(all, m)
		}
	}
	for _, t := range s.turnsAt(asOf) {
		all = append(all, memory.Memory{Turn: &t})
	}
	return all
}

// Profile returns the active profile entries.
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	var entries []memory.ProfileEntry
	err := s.read(ctx, owner, func(sh *shelf) error {
		for _, image := range sh.imagesAt(at.AsOf) {
			if image.Profile != nil && image.Profile.Status == memory.Active {
				entries = append(entries, *image.Profile)
			}
		}
		return nil
	})
	slices.SortFunc(entries, func(a, b memory.ProfileEntry) int { return cmp.Compare(a.Key, b.Key) })
	return entries, err
}

// Contexts returns active contexts.
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) ([]memory.Context, error) {
	var contexts []memory.Context
	err := s.read(ctx, owner, func(sh *shelf) error {
		for _, image := range sh.imagesAt(at.AsOf) {
			c := image.Context
			if c != nil && c.Status == memory.Active && (len(ids) == 0 || slices.Contains(ids, c.ID)) {
				contexts = append(contexts, *c)
			}
		}
		return nil
	})
	slices.SortFunc(contexts, func(a, b memory.Context) int { return cmp.Compare(a.ID, b.ID) })
	return contexts, err
}

// Relations returns the active relations of a fact.
func (s *Store) Relations(ctx context.Context, owner memory.Owner, fact string, at memory.At) ([]memory.Relation, error) {
	var relations []memory.Relation
	err := s.read(ctx, owner, func(sh *shelf) error {
		for _, image := range sh.imagesAt(at.AsOf) {
			r := image.Relation
			if r != nil && r.Status == memory.Active && (r.From == fact || r.To == fact) {
				relations = append(relations, *r)
			}
		}
		return nil
	})
	slices.SortFunc(relations, func(a, b memory.Relation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
	return relations, err
}

// Counts says how much an owner has.
func (s *Store) Counts(ctx context.Context, owner memory.Owner) (memory.Counts, error) {
	var n memory.Counts
	err := s.read(ctx, owner, func(sh *shelf) error {
		n = sh.counts()
		return nil
	})
	return n, err
}

// Totals says how much there is.
func (s *Store) Totals(ctx context.Context) (memory.Counts, error) {
	if err := ctx.Err(); err != nil {
		return memory.Counts{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var total memory.Counts
	for _, sh := range s.shelves {
		n := sh.counts()
		total.Facts += n.Facts
		total.Pending += n.Pending
		total.Turns += n.Turns
		total.Summaries += n.Summaries
		total.Conversations += n.Conversations
		total.Contexts += n.Contexts
		total.Changes += n.Changes
		total.JobsQueued += n.JobsQueued
		total.JobsParked += n.JobsParked
	}
	return total, nil
}

func (s *shelf) counts() memory.Counts {
	n := memory.Counts{Changes: len(s.journal)}
	for _, c := range s.conversations {
		if c.Status == memory.Active {
			n.Conversations++
		}
	}
	for _, image := range s.things {
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
	for _, j := range s.jobs {
		switch j.State {
		case memory.JobQueued:
			n.JobsQueued++
		case memory.JobParked:
			n.JobsParked++
		}
	}
	return n
}

// place is where something stands in a list that is newest first.
type place struct {
	At time.Time
	ID string
}

func (p place) compare(q place) int {
	return cmp.Or(q.At.Compare(p.At), strings.Compare(q.ID, p.ID))
}

// cut returns the piece of a list that begins after the cursor, in order, and
// the cursor of what follows it.
func cut[T any](all []T, limit int, cursor string, at func(T) place) ([]T, string, error) {
	slices.SortFunc(all, func(a, b T) int { return at(a).compare(at(b)) })
	if cursor != "" {
		after, err := readCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		all = slices.DeleteFunc(all, func(x T) bool { return at(x).compare(after) <= 0 })
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	if len(all) <= limit {
		return all, "", nil
	}
	all = all[:limit]
	return all, writeCursor(at(all[limit-1])), nil
}

func writeCursor(p place) string {
	text, _ := json.Marshal(p) // a time and a string always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

func readCursor(cursor string) (place, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return place{}, memory.Errorf(memory.Invalid, "%q is not a valid cursor", cursor)
	}
	var p place
	if err := json.Unmarshal(text, &p); err != nil {
		return place{}, memory.Errorf(memory.Invalid, "%q is not a valid cursor", cursor)
	}
	return p, nil
}
