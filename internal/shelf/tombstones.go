package shelf

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// AddTombstones stores tombstones of turns, which recognize their text later: see [memory.Tombstones].
func (s *Shelf) Bury(turns ...memory.Turn) {
	for _, t := range turns {
		s.bury(t)
	}
}

// MatchTombstones reports, for each turn, whether a turn with its role and text was retired or erased.
func (s *Shelf) Buried(turns ...memory.Turn) []bool {
	gone := map[string]bool{}
	for id, mark := range s.Tombs {
		if t, kept := s.Turns[id]; !kept || t.Status == memory.Retired {
			gone[mark] = true
		}
	}
	out := make([]bool, len(turns))
	for i, t := range turns {
		out[i] = t.Content != "" && gone[s.Tombstone(t)]
	}
	return out
}

func (s *Shelf) bury(t memory.Turn) {
	if t.Content != "" {
		s.Tombs[t.ID] = s.Tombstone(t)
	}
}

// Tombstone returns a hash of a turn's role and text, keyed by owner.
func (s *Shelf) Tombstone(t memory.Turn) string {
	h := hmac.New(sha256.New, []byte(s.Secret))
	h.Write([]byte(string(t.Role) + "\x00" + text.Normalize(t.Content)))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
