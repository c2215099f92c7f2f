package ownerdata

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// AddTombstones stores hashes that recognize the turns' roles and texts: see [memory.Tombstones].
func (s *Data) AddTombstones(turns ...memory.Turn) {
	for _, t := range turns {
		s.addTombstone(t)
	}
}

// HasTombstones reports, for each turn, whether a turn with its role and text was retired or erased.
func (s *Data) HasTombstones(turns ...memory.Turn) []bool {
	hidden := map[string]bool{}
	for id, mark := range s.Tombstones {
		if t, exists := s.Turns[id]; !exists || t.Status == memory.Retired {
			hidden[mark] = true
		}
	}
	out := make([]bool, len(turns))
	for i, t := range turns {
		out[i] = t.Content != "" && hidden[s.Tombstone(t)]
	}
	return out
}

func (s *Data) addTombstone(t memory.Turn) {
	if t.Content != "" {
		s.Tombstones[t.ID] = s.Tombstone(t)
	}
}

// Tombstone returns a hash of a turn's role and text, with TombstoneKey as the key.
func (s *Data) Tombstone(t memory.Turn) string {
	h := hmac.New(sha256.New, []byte(s.TombstoneKey))
	h.Write([]byte(string(t.Role) + "\x00" + text.Normalize(t.Content)))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
