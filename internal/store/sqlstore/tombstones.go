package sqlstore

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// AddTombstones stores only the tombstones of turns, not their text: see [memory.Tombstones].
func (s *Store) Bury(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	return s.writeFor(ctx, owner, func(t *tx) error {
		for _, one := range turns {
			if err := t.bury(owner, one.ID, one.Role, one.Content); err != nil {
				return err
			}
		}
		return nil
	})
}

// MatchTombstones reports, for each turn, whether it has a tombstone: see [memory.Tombstones].
func (s *Store) Buried(ctx context.Context, owner memory.Owner, turns ...memory.Turn) ([]bool, error) {
	out := make([]bool, len(turns))
	if len(turns) == 0 {
		return out, checkOwner(owner)
	}
	secret, err := s.secret(ctx, owner)
	if err != nil {
		return nil, err
	}
	marks := make([]string, len(turns))
	for i, one := range turns {
		marks[i] = tombstone(secret, one.Role, one.Content)
	}
	found, err := queryOwner(ctx, s.reads, owner, `SELECT mark FROM tombstones WHERE owner = ? AND mark IN (SELECT value FROM json_each(?))`, []any{listed(marks)}, scanText[string])
	for i, one := range turns {
		out[i] = one.Content != "" && slices.Contains(found, marks[i])
	}
	return out, wrap("find tombstones", err)
}

// tombstoneKey returns the secret key for an owner's tombstones, and creates a missing key.
func (s *Store) secret(ctx context.Context, owner memory.Owner) (secret string, err error) {
	found, err := queryOwner(ctx, s.reads, owner, `SELECT secret FROM secrets WHERE owner = ?`, nil, scanText[string])
	if err != nil || len(found) > 0 {
		return strings.Join(found, ""), wrap("read the key of tombstones", err)
	}
	err = s.write(ctx, owner, func(t *tx) (err error) { secret, err = t.secret(owner); return err })
	return secret, err
}

// tombstone returns the keyed hash of a role and a text.
func tombstone(secret string, role memory.Role, words string) string {
	return (&shelf.Shelf{Secret: secret}).Tombstone(memory.Turn{Role: role, Content: words})
}

// tombstoneKey returns the secret key for an owner's tombstones, and creates a missing key.
func (t *tx) secret(owner memory.Owner) (string, error) {
	var secret string
	err := t.row(`SELECT secret FROM secrets WHERE owner = ?`, []any{owner}, &secret)
	if noRows(err) {
		secret = rand.Text()
		err = t.exec(`INSERT INTO secrets (owner, secret) VALUES (?, ?)`, owner, secret)
	}
	return secret, wrap("read the key of tombstones", err)
}

// storeTombstone stores a turn's tombstone. A turn without text needs none.
func (t *tx) bury(owner memory.Owner, turn string, role memory.Role, words string) error {
	if words == "" {
		return nil
	}
	secret, err := t.secret(owner)
	if err != nil {
		return err
	}
	err = t.exec(`INSERT INTO tombstones (owner, mark, turn) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, owner, tombstone(secret, role, words), turn)
	return wrap("store a tombstone", err)
}

// deleteTombstone deletes the tombstone of a restored turn.
func (t *tx) unbury(owner memory.Owner, turn string) error {
	err := t.exec(`DELETE FROM tombstones WHERE owner = ? AND turn = ?`, owner, turn)
	return wrap("delete a tombstone", err)
}
