package shelf

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Bury records turns so that they are recognized: see [memory.Tombstones].
func (s *Shelf) Bury(turns ...memory.Turn) {
	for _, t := range turns {
		s.bury(t)
	}
}

// Buried looks for turns with the same text that are out of recall.
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

// Tombstone returns a hash, keyed by owner, of a turn's role and text.
func (s *Shelf) Tombstone(t memory.Turn) string {
	h := hmac.New(sha256.New, []byte(s.Secret))
	h.Write([]byte(string(t.Role) + "\x00" + text.Normalize(t.Content)))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
