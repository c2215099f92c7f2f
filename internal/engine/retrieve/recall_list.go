package retrieve

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Listed is how many facts a question for whatever is known looks at.
const Listed = 500

// lists reports whether a question for whatever is known is answered by a list.
func (r *Recalling) lists() bool {
	return r.Q.At == (memory.At{}) && (len(r.Q.Kinds) == 0 || slices.Contains(r.Q.Kinds, memory.KindFact))
}

// list answers a question for whatever is known: facts by importance.
func (r *Recalling) list(ctx context.Context, topK int) error {
	r.placed()
	q := r.filters()
	q.Limit = Listed
	page, err := r.E.Store.List(ctx, r.Q.Scope.Owner, q)
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
		if m.Visible(r.Now) && r.Q.Scope.Sees(m.Scope()) && !r.Q.Exclude[m.ID()] {
			visible = append(visible, m)
		}
	}
	r.Found = len(visible)
	r.fit(ctx, recall.ByImportance(visible, r.Now), topK)
	return nil
}

// identity lists the facts that say who the user is, however old.
func (r *Recalling) identity(ctx context.Context, q memory.Query) ([]memory.Memory, error) {
	var facts []memory.Memory
	q.Subject = "user"
	for _, q.Attribute = range recall.Identity {
		page, err := r.E.Store.List(ctx, r.Q.Scope.Owner, q)
		if err != nil {
			return nil, fmt.Errorf("list who the user is: %w", err)
		}
		facts = append(facts, page.Memories...)
	}
	return facts, nil
}
