package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Keys = (*Store)(nil)

// AddKey keeps a key: see [memory.Keys].
func (s *Store) AddKey(ctx context.Context, namespace string, key memory.Key) error {
	owner := memory.Global(namespace)
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, "", func(t *tx) error { return t.addKey(owner, key, time.Time{}) })
}

// addKey writes a row of api_keys; a sign-in has a time at which it expires.
func (t *tx) addKey(owner memory.Owner, key memory.Key, expires time.Time) error {
	n, err := t.count(`INSERT INTO api_keys (owner, hash, name, role, "user", created_at, last_used_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING`,
		owner, key.Hash, key.Name, key.Role, key.User, micros(key.CreatedAt), micros(expires))
	if err == nil && n == 0 {
		return memory.Errorf(memory.Conflict, "it is there already")
	}
	return wrap("keep it", err)
}

// Keys returns the keys of a namespace: see [memory.Keys].
func (s *Store) Keys(ctx context.Context, namespace string) ([]memory.Key, error) {
	keys, err := queryAll(ctx, s.reads, `SELECT hash, name, role, "user", created_at FROM api_keys WHERE owner = ? AND role <> ? ORDER BY created_at, hash`,
		[]any{memory.Global(namespace), roleSession}, scanKey)
	return keys, wrap("read the keys", err)
}

func scanKey(row scanner) (k memory.Key, err error) {
	err = row.Scan(&k.Hash, &k.Name, &k.Role, &k.User, asTime{&k.CreatedAt})
	return k, err
}

// RemoveKey removes a key: see [memory.Keys].
func (s *Store) RemoveKey(ctx context.Context, namespace, id string) error {
	return s.write(ctx, "", func(t *tx) error {
		n, err := t.count(`DELETE FROM api_keys WHERE owner = ? AND substr(hash, 1, 16) = ? AND role <> ?`, memory.Global(namespace), id, roleSession)
		if err == nil && n == 0 {
			return fmt.Errorf("remove the key: %w", memory.Errorf(memory.NotFound, "there is no key %s", id))
		}
		return wrap("remove the key", err)
	})
}
