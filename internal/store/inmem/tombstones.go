package inmem

import (
	"context"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Tombstones = (*Store)(nil)

// Bury lets turns be known again. Their hashes have no key: they are nowhere but here.
func (s *Store) Bury(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	return s.write(ctx, owner, func(draft *shelf) error {
		for _, t := range turns {
			draft.bury(t)
		}
		return nil
	})
}

// Buried looks for turns of the same words that are out of recall.
func (s *Store) Buried(ctx context.Context, owner memory.Owner, turns ...memory.Turn) ([]bool, error) {
	out := make([]bool, len(turns))
	err := s.read(ctx, owner, func(sh *shelf) error {
		gone := map[string]bool{}
		for id, hash := range sh.tombs {
			if t, kept := sh.turns[id]; !kept || t.Status == memory.Retired {
				gone[hash] = true
			}
		}
		for _, t := range sh.turns {
			if t.Status == memory.Retired && t.Content != "" {
				gone[tombstone(t)] = true
			}
		}
		for i, t := range turns {
			out[i] = t.Content != "" && gone[tombstone(t)]
		}
		return nil
	})
	return out, err
}

func (s *shelf) bury(t memory.Turn) {
	if t.Content != "" {
		s.tombs[t.ID] = tombstone(t)
	}
}

func tombstone(t memory.Turn) string {
	return text.Hash(string(t.Role) + "\n" + text.Normalize(t.Content))
}
