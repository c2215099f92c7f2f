package index

import (
	"context"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// source is a [memory.IndexSource] in which histories are played.
type source struct {
	mu      sync.Mutex
	owners  map[memory.Owner]*history
	pulls   int
	steps   int                    // yielded
	erased  map[memory.Owner]int64 // Since from before this version is Gone
	failing error
}

type history struct {
	version int64
	steps   []memory.IndexItem          // every one, in order
	present map[string]memory.IndexItem // by id
}

func newSource() *source {
	return &source{owners: map[memory.Owner]*history{}, erased: map[memory.Owner]int64{}}
}

func (s *source) put(owner memory.Owner, items ...memory.IndexItem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.owners[owner]
	if h == nil {
		h = &history{present: map[string]memory.IndexItem{}}
		s.owners[owner] = h
	}
	h.version++
	for _, item := range items {
		item.Version = h.version
		if item.ID == "" {
			item.ID = item.Memory.ID()
		}
		h.steps = append(h.steps, item)
		if item.Removed {
			delete(h.present, item.ID)
			continue
		}
		h.present[item.ID] = item
	}
}

func (s *source) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]int64, len(owners))
	for i, o := range owners {
		if h := s.owners[o]; h != nil {
			out[i] = h.version
		}
	}
	return out, ctx.Err()
}

func (s *source) Since(ctx context.Context, owner memory.Owner, _ string, after int64, yield func(memory.IndexItem) error) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls++
	if s.failing != nil {
		return 0, s.failing
	}
	h := s.owners[owner]
	if h == nil {
		return 0, ctx.Err()
	}
	if after > h.version || after > 0 && after < s.erased[owner] {
		return 0, memory.Errorf(memory.Gone, "erased")
	}
	last := map[string]int{}
	for i, step := range h.steps {
		last[step.ID] = i
	}
	for i, step := range h.steps {
		if step.Version <= after || last[step.ID] != i || after == 0 && step.Removed {
			continue
		}
		s.steps++
		if err := yield(step); err != nil {
			return 0, err
		}
	}
	return h.version, ctx.Err()
}

// reference returns what is present, for comparison.
func (s *source) reference() reference {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := reference{}
	for owner, h := range s.owners {
		for _, item := range h.present {
			r[owner] = append(r[owner], item)
		}
	}
	return r
}
