package vault

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// EraseTraces removes all traces of an owner, which the store within has alone: see
// [memory.Eraser].
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	inner, ok := s.Store.(memory.Eraser)
	if !ok {
		return 0, errNotWithin
	}
	s.copying.Lock() // a copy waits here, and not where it stops who writes
	defer s.copying.Unlock()
	return inner.EraseTraces(ctx, owner)
}

// EraseTracesOf removes the traces that show one of the facts.
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	inner, ok := s.Store.(memory.Eraser)
	if !ok {
		return 0, errNotWithin
	}
	s.copying.Lock() // a copy waits here, and not where it stops who writes
	defer s.copying.Unlock()
	return inner.EraseTracesOf(ctx, namespace, facts...)
}

var errNotWithin = memory.Errorf(memory.Unavailable, "the store within the vault erases nothing")
