package inmem

import (
	"context"
	"maps"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Sessions = (*Store)(nil)

// sessionKey identifies a session of a namespace.
type sessionID struct{ namespace, hash string }

// AddSession stores a session: see [memory.Sessions].
func (s *Store) AddSession(_ context.Context, namespace string, one memory.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := sessionID{namespace, one.Hash}
	if _, is := s.sessions[id]; is {
		return memory.Errorf(memory.Conflict, "the session exists already")
	}
	maps.DeleteFunc(s.sessions, func(id sessionID, old memory.Session) bool {
		return id.namespace == namespace && old.ExpiresAt.Before(one.CreatedAt)
	})
	s.sessions[id] = one
	return nil
}

// Session returns a session: see [memory.Sessions].
func (s *Store) Session(_ context.Context, namespace, hash string) (memory.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, is := s.sessions[sessionID{namespace, hash}]
	if !is {
		return memory.Session{}, memory.Errorf(memory.NotFound, "no such session")
	}
	return one, nil
}

// RemoveSession removes a session: see [memory.Sessions].
func (s *Store) RemoveSession(_ context.Context, namespace, hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, sessionID{namespace, hash})
	return nil
}
