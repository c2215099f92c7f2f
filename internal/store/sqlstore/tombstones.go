package sqlstore

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// AddTombstones stores only the tombstones of turns, not their text: see [memory.Tombstones].
func (s *Store) AddTombstones(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	return s.writeForOwner(ctx, owner, func(t *tx) error {
		for _, one := range turns {
			if err := t.storeTombstone(owner, one.ID, one.Role, one.Content); err != nil {
				return err
			}
		}
		return nil
	})
}

// HasTombstones reports, for each turn, whether its role and text have a tombstone: see [memory.Tombstones].
func (s *Store) HasTombstones(ctx context.Context, owner memory.Owner, turns ...memory.Turn) ([]bool, error) {
	out := make([]bool, len(turns))
	if len(turns) == 0 {
		return out, checkOwner(owner)
	}
	secret, err := s.tombstoneKey(ctx, owner)
	if err != nil {
		return nil, err
	}
	marks := make([]string, len(turns))
	for i, one := range turns {
		marks[i] = tombstone(secret, one.Role, one.Content)
	}
	found, err := queryOwner(ctx, s.reader, owner, `SELECT mark FROM tombstones WHERE owner = ? AND mark IN (SELECT value FROM json_each(?))`, []any{textList(marks)}, scanText[string])
	for i, one := range turns {
		out[i] = one.Content != "" && slices.Contains(found, marks[i])
	}
	return out, wrap("find tombstones", err)
}

// tombstoneKey returns the secret key for an owner's tombstones, and creates a missing key.
func (s *Store) tombstoneKey(ctx context.Context, owner memory.Owner) (secret string, err error) {
	found, err := queryOwner(ctx, s.reader, owner, `SELECT secret FROM secrets WHERE owner = ?`, nil, scanText[string])
	if err != nil || len(found) > 0 {
		return strings.Join(found, ""), wrap("read the key of tombstones", err)
	}
	err = s.write(ctx, owner, func(t *tx) (err error) { secret, err = t.tombstoneKey(owner); return err })
	return secret, err
}

// tombstone returns the keyed hash of a role and a text.
func tombstone(secret string, role memory.Role, text string) string {
	return (&ownerdata.Data{TombstoneKey: secret}).Tombstone(memory.Turn{Role: role, Content: text})
}

// tombstoneKey returns the secret key for an owner's tombstones, and creates a missing key.
func (t *tx) tombstoneKey(owner memory.Owner) (string, error) {
	var secret string
	err := t.queryRow(`SELECT secret FROM secrets WHERE owner = ?`, []any{owner}, &secret)
	if isNoRows(err) {
		secret = rand.Text()
		err = t.exec(`INSERT INTO secrets (owner, secret) VALUES (?, ?)`, owner, secret)
	}
	return secret, wrap("read the key of tombstones", err)
}

// storeTombstone stores a turn's tombstone. A turn without text needs none.
func (t *tx) storeTombstone(owner memory.Owner, turnID string, role memory.Role, text string) error {
	if text == "" {
		return nil
	}
	secret, err := t.tombstoneKey(owner)
	if err != nil {
		return err
	}
	err = t.exec(`INSERT INTO tombstones (owner, mark, turn) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, owner, tombstone(secret, role, text), turnID)
	return wrap("store a tombstone", err)
}

// deleteTombstone deletes the tombstone of a restored turn.
func (t *tx) deleteTombstone(owner memory.Owner, turnID string) error {
	err := t.exec(`DELETE FROM tombstones WHERE owner = ? AND turn = ?`, owner, turnID)
	return wrap("delete a tombstone", err)
}
