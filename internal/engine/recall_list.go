package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// listed is how many facts a question for whatever is known looks at.
const listed = 500

// lists reports whether a question for whatever is known is answered by a list.
func (r *recalling) lists() bool {
	return r.q.At == (memory.At{}) && (len(r.q.Kinds) == 0 || slices.Contains(r.q.Kinds, memory.KindFact))
}

// list answers a question for whatever is known: facts by importance.
func (r *recalling) list(ctx context.Context, topK int) error {
	r.placed()
	q := r.filters()
	q.Limit = listed
	page, err := r.e.Store.List(ctx, r.q.Scope.Owner, q)
	if err != nil {
		return fmt.Errorf("list what is known: %w", err)
	}
	known := page.Memories
	if page.Next != "" { // who the user is may have been said long ago
		more, err := r.identity(ctx, q)
		if err != nil {
			return err
		}
		known = append(known, more...)
	}
	seen := map[string]bool{}
	var visible []memory.Memory
	for _, m := range known {
		if seen[m.ID()] {
			continue
		}
		seen[m.ID()] = true
		if m.Visible(r.now) && r.q.Scope.Sees(m.Scope()) && !r.q.Exclude[m.ID()] {
			visible = append(visible, m)
		}
	}
	r.found = len(visible)
	r.fit(ctx, recall.ByImportance(visible, r.now), topK)
	return nil
}

// identity lists the facts that say who the user is, however old.
func (r *recalling) identity(ctx context.Context, q memory.Query) ([]memory.Memory, error) {
	var facts []memory.Memory
	q.Subject = "user"
	for _, q.Attribute = range recall.Identity {
		page, err := r.e.Store.List(ctx, r.q.Scope.Owner, q)
		if err != nil {
			return nil, fmt.Errorf("list who the user is: %w", err)
		}
		facts = append(facts, page.Memories...)
	}
	return facts, nil
}
