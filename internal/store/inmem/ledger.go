package inmem

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// AddUsage adds usage of models to the ledger.
func (s *Store) AddUsage(ctx context.Context, owner memory.Owner, u memory.Usage) error {
	if err := u.Check(); err != nil {
		return err
	}
	u.Day = memory.StartOfDay(u.Day)
	return s.write(ctx, owner, func(data *ownerdata.Data) error {
		data.Usage = slices.Clone(data.Usage)
		i := slices.IndexFunc(data.Usage, func(v memory.Usage) bool { return compareUsage(u, v) == 0 })
		if i < 0 {
			data.Usage = append(data.Usage, u)
			return nil
		}
		data.Usage[i].Add(u)
		return nil
	})
}

// UsageSince returns the ledger's usage since a day.
func (s *Store) UsageSince(ctx context.Context, owner memory.Owner, since time.Time) ([]memory.Usage, error) {
	var out []memory.Usage
	err := s.read(ctx, owner, func(data *ownerdata.Data) error {
		for _, u := range data.Usage {
			if !u.Day.Before(memory.StartOfDay(since)) {
				out = append(out, u)
			}
		}
		return nil
	})
	slices.SortFunc(out, compareUsage)
	return out, err
}

func compareUsage(a, b memory.Usage) int {
	return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Model, b.Model))
}
