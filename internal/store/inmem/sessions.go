package inmem

import (
	"context"
	"maps"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Sessions = (*Store)(nil)

// sessionKey identifies a session of a namespace.
type sessionKey struct{ namespace, hash string }

// AddSession stores a session: see [memory.Sessions].
func (s *Store) AddSession(_ context.Context, namespace string, session memory.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := sessionKey{namespace, session.Hash}
	if _, exists := s.sessions[id]; exists {
		return memory.Errorf(memory.Conflict, "the session exists already")
	}
	maps.DeleteFunc(s.sessions, func(id sessionKey, old memory.Session) bool {
		return id.namespace == namespace && old.ExpiresAt.Before(session.CreatedAt)
	})
	s.sessions[id] = session
	return nil
}

// Session returns a session: see [memory.Sessions].
func (s *Store) Session(_ context.Context, namespace, hash string) (memory.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, exists := s.sessions[sessionKey{namespace, hash}]
	if !exists {
		return memory.Session{}, memory.Errorf(memory.NotFound, "no such session")
	}
	return session, nil
}

// RemoveSession removes a session: see [memory.Sessions].
func (s *Store) RemoveSession(_ context.Context, namespace, hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, sessionKey{namespace, hash})
	return nil
}
