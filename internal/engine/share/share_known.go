package share

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// sharings is which facts owners share, as of a version of theirs: every change of a
// known fact asks, and few are shared. The zero value knows nothing.
type sharings struct {
	mu    sync.Mutex // guards what follows
	known map[memory.Owner]sharing
}

// sharing is the ids of the facts that are shared, or were and are looked after.
type sharing struct {
	version int64
	facts   map[string]bool // never written to
}

func (s *sharings) at(owner memory.Owner, version int64) (facts map[string]bool, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, known := s.known[owner]
	return k.facts, known && k.version == version
}

func (s *sharings) keep(owner memory.Owner, k sharing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= core.MostLooked {
		s.known = map[memory.Owner]sharing{}
	}
	s.known[owner] = k
}

// follow keeps what is known true after a write by this process, if it was the next one.
// After one by another server the versions differ, and it is read again.
func (s *sharings) follow(owner memory.Owner, receipt memory.Receipt, changes []memory.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, known := s.known[owner]
	if !known || receipt.Again || receipt.Version != k.version+1 {
		return
	}
	k.version++
	copied := false
	for _, c := range changes {
		if p := c.After.Profile; p != nil && TellsSharing(p.Key) {
			if !copied {
				k.facts, copied = maps.Clone(k.facts), true
			}
			if id := strings.TrimPrefix(p.Key, SharedKeys); p.Status == memory.Active {
				k.facts[id] = true
			} else {
				delete(k.facts, id)
			}
		}
	}
	s.known[owner] = k
}

// sharedBy returns the ids of the facts that an owner shares. The profile is read where
// that is not known of the owner's version.
func (e *Sharer) sharedBy(ctx context.Context, owner memory.Owner) (map[string]bool, error) {
	version, err := e.Version(ctx, owner)
	if err != nil {
		return nil, err
	}
	if facts, known := e.shares.at(owner, version); known {
		return facts, nil
	}
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		return nil, err
	}
	facts := map[string]bool{}
	for _, entry := range entries {
		if id, ok := strings.CutPrefix(entry.Key, SharedKeys); ok {
			facts[id] = true
		}
	}
	e.shares.keep(owner, sharing{version, facts}) // if it was written between, nobody asks for that version
	return facts, nil
}
