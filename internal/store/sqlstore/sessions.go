package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Sessions = (*Store)(nil)

// roleSession is the role of web sign-ins in the table api_keys. [Store.Keys] skips rows with this role.
const roleSession = "session"

// AddSession stores a session: see [memory.Sessions].
func (s *Store) AddSession(ctx context.Context, namespace string, session memory.Session) error {
	owner := memory.Global(namespace)
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, "", func(t *tx) error {
		if err := t.addKey(owner, keyForSession(session)); err != nil {
			return err
		}
		err := t.exec(`DELETE FROM api_keys WHERE owner = ? AND role = ? AND revoked_at < ?`, owner, roleSession, toMicros(session.CreatedAt))
		return wrap("remove sessions that expired", err)
	})
}

// keyForSession returns the key as which the table api_keys stores a session.
func keyForSession(session memory.Session) memory.Key {
	return memory.Key{Hash: session.Hash, Name: session.By, Role: roleSession, User: session.User, CreatedAt: session.CreatedAt, ExpiresAt: session.ExpiresAt}
}

// Session returns a session: see [memory.Sessions].
func (s *Store) Session(ctx context.Context, namespace, hash string) (memory.Session, error) {
	found, err := queryAll(ctx, s.reader, `SELECT `+keyColumns+` FROM api_keys WHERE owner = ? AND hash = ? AND role = ?`,
		[]any{memory.Global(namespace), hash, roleSession}, scanSession)
	if err != nil {
		return memory.Session{}, wrap("read the session", err)
	}
	if len(found) == 0 {
		return memory.Session{}, memory.Errorf(memory.NotFound, "no such session")
	}
	return found[0], nil
}

func scanSession(row scanner) (memory.Session, error) {
	k, err := scanKey(row)
	return memory.Session{Hash: k.Hash, By: k.Name, User: k.User, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt}, err
}

// RemoveSession removes a session: see [memory.Sessions].
func (s *Store) RemoveSession(ctx context.Context, namespace, hash string) error {
	return s.write(ctx, "", func(t *tx) error {
		_, err := t.execCount(`DELETE FROM api_keys WHERE owner = ? AND hash = ? AND role = ?`, memory.Global(namespace), hash, roleSession)
		return wrap("remove the session", err)
	})
}
