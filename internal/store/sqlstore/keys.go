package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Keys = (*Store)(nil)

// AddKey stores a key: see [memory.Keys].
func (s *Store) AddKey(ctx context.Context, namespace string, key memory.Key) error {
	owner := memory.Global(namespace)
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, "", func(t *tx) error { return t.addKey(owner, key) })
}

func (t *tx) addKey(owner memory.Owner, key memory.Key) error {
	n, err := t.execCount(`INSERT INTO api_keys (owner, hash, name, role, "user", created_at, last_used_at, revoked_at, scope) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		owner, key.Hash, key.Name, key.Role, key.User, toMicros(key.CreatedAt), toMicros(key.UsedAt), toMicros(key.ExpiresAt), key.Scope)
	if err == nil && n == 0 {
		return memory.Errorf(memory.Conflict, "the key exists already")
	}
	return wrap("store the key", err)
}

const keyColumns = `hash, name, role, "user", created_at, last_used_at, revoked_at, scope`

// Keys returns the keys of a namespace: see [memory.Keys].
func (s *Store) Keys(ctx context.Context, namespace string) ([]memory.Key, error) {
	keys, err := queryAll(ctx, s.reader, `SELECT `+keyColumns+` FROM api_keys WHERE owner = ? AND role <> ? ORDER BY created_at, hash`,
		[]any{memory.Global(namespace), roleSession}, scanKey)
	return keys, wrap("read the keys", err)
}

func scanKey(row scanner) (k memory.Key, err error) {
	err = row.Scan(&k.Hash, &k.Name, &k.Role, &k.User, timeColumn{&k.CreatedAt}, timeColumn{&k.UsedAt}, timeColumn{&k.ExpiresAt}, &k.Scope)
	return k, err
}

// whereKey selects a key's row by owner and id, which is the beginning of the hash.
const whereKey = ` WHERE owner = ? AND substr(hash, 1, 16) = ? AND role <> '` + roleSession + `'`

// ExpireKey sets when a key expires: see [memory.Keys].
func (s *Store) ExpireKey(ctx context.Context, namespace, id string, at time.Time) error {
	return s.changeKey(ctx, id, `UPDATE api_keys SET revoked_at = ?`+whereKey, toMicros(at), memory.Global(namespace), id)
}

// UseKey stores the time at which a key was used: see [memory.Keys].
func (s *Store) UseKey(ctx context.Context, namespace, id string, at time.Time) error {
	err := s.changeKey(ctx, id, `UPDATE api_keys SET last_used_at = ?`+whereKey+` AND last_used_at < ?`, toMicros(at), memory.Global(namespace), id, toMicros(at))
	if errors.Is(err, memory.NotFound) { // no such key, or a later use is stored
		return nil
	}
	return err
}

// RemoveKey removes a key: see [memory.Keys].
func (s *Store) RemoveKey(ctx context.Context, namespace, id string) error {
	return s.changeKey(ctx, id, `DELETE FROM api_keys`+whereKey, memory.Global(namespace), id)
}

// changeKey runs a statement that changes a key's row.
func (s *Store) changeKey(ctx context.Context, id, statement string, args ...any) error {
	return s.write(ctx, "", func(t *tx) error {
		n, err := t.execCount(statement, args...)
		if err == nil && n == 0 {
			return memory.Errorf(memory.NotFound, "there is no key %s", id)
		}
		return wrap("change the key", err)
	})
}
