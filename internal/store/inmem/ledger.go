package inmem

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// AddUsage adds to the usage.
func (s *Store) Spend(ctx context.Context, owner memory.Owner, u memory.Usage) error {
	if err := u.Check(); err != nil {
		return err
	}
	u.Day = memory.DayOf(u.Day)
	return s.write(ctx, owner, func(draft *shelf.Shelf) error {
		draft.Spent = slices.Clone(draft.Spent)
		i := slices.IndexFunc(draft.Spent, func(v memory.Usage) bool { return byDay(u, v) == 0 })
		if i < 0 {
			draft.Spent = append(draft.Spent, u)
			return nil
		}
		draft.Spent[i].Add(u)
		return nil
	})
}

// UsageSince returns the usage since a day.
func (s *Store) Spent(ctx context.Context, owner memory.Owner, from time.Time) ([]memory.Usage, error) {
	var out []memory.Usage
	err := s.read(ctx, owner, func(sh *shelf.Shelf) error {
		for _, u := range sh.Spent {
			if !u.Day.Before(memory.DayOf(from)) {
				out = append(out, u)
			}
		}
		return nil
	})
	slices.SortFunc(out, byDay)
	return out, err
}

func byDay(a, b memory.Usage) int {
	return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Model, b.Model))
}
