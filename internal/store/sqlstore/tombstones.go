package sqlstore

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Bury keeps marks of turns without words: see [memory.Tombstones].
func (s *Store) Bury(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, owner, func(t *tx) error {
		for _, one := range turns {
			if err := t.bury(owner, one.ID, one.Role, one.Content); err != nil {
				return err
			}
		}
		return nil
	})
}

// Buried looks for marks: see [memory.Tombstones].
func (s *Store) Buried(ctx context.Context, owner memory.Owner, turns ...memory.Turn) ([]bool, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	out := make([]bool, len(turns))
	if len(turns) == 0 {
		return out, nil
	}
	secret, err := s.secret(ctx, owner)
	if err != nil {
		return nil, err
	}
	marks := make([]string, len(turns))
	for i, one := range turns {
		marks[i] = tombstone(secret, one.Role, one.Content)
	}
	found := map[string]bool{}
	err = s.reads.look(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT mark FROM tombstones WHERE owner = ? AND mark IN (SELECT value FROM json_each(?))`, listed(marks))
		_, err = collect(rows, err, func(row scanner) (mark string, err error) {
			err = row.Scan(&mark)
			found[mark] = true
			return mark, err
		})
		return wrap("look for what was said before", err)
	})
	for i, one := range turns {
		out[i] = one.Content != "" && found[marks[i]]
	}
	return out, err
}

// secret returns the key of an owner's marks, made now if there is none.
func (s *Store) secret(ctx context.Context, owner memory.Owner) (secret string, err error) {
	err = s.reads.look(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT secret FROM secrets WHERE owner = ?`)
		_, err = collect(rows, err, func(row scanner) (string, error) { return secret, row.Scan(&secret) })
		return wrap("read the key of marks", err)
	})
	if err != nil || secret != "" {
		return secret, err
	}
	err = s.write(ctx, owner, func(t *tx) (err error) { secret, err = t.secret(owner); return err })
	return secret, err
}

// tombstone is a keyed hash of who said what.
func tombstone(secret string, role memory.Role, words string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(string(role) + "\x00" + text.Normalize(words)))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// secret returns the key of an owner's marks. When it is made, what is out of recall
// by then is buried, as a database has it that is older than these marks.
func (t *tx) secret(owner memory.Owner) (string, error) {
	var secret string
	err := t.row(`SELECT secret FROM secrets WHERE owner = ?`, []any{owner}, &secret)
	if err == nil || !noRows(err) {
		return secret, wrap("read the key of marks", err)
	}
	secret = rand.Text()
	if err := t.exec(`INSERT INTO secrets (owner, secret) VALUES (?, ?)`, owner, secret); err != nil {
		return "", fmt.Errorf("keep the key of marks: %w", err)
	}
	type said struct {
		id, words string
		role      memory.Role
	}
	rows, err := t.query(`SELECT id, role, content FROM turns WHERE owner = ? AND status = 'retired' AND content <> ''`, owner)
	all, err := collect(rows, err, func(row scanner) (o said, err error) {
		err = row.Scan(&o.id, &o.role, &o.words)
		return o, err
	})
	if err != nil {
		return "", fmt.Errorf("read what is out of recall: %w", err)
	}
	for _, o := range all {
		if err := t.mark(secret, owner, o.id, o.role, o.words); err != nil {
			return "", err
		}
	}
	return secret, nil
}

// bury keeps a turn's mark; one without words has none.
func (t *tx) bury(owner memory.Owner, turn string, role memory.Role, words string) error {
	if words == "" {
		return nil
	}
	secret, err := t.secret(owner)
	if err != nil {
		return err
	}
	return t.mark(secret, owner, turn, role, words)
}

func (t *tx) mark(secret string, owner memory.Owner, turn string, role memory.Role, words string) error {
	err := t.exec(`INSERT INTO tombstones (owner, mark, turn) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, owner, tombstone(secret, role, words), turn)
	return wrap("keep a mark", err)
}

// unbury forgets a turn's mark, since it is back.
func (t *tx) unbury(owner memory.Owner, turn string) error {
	err := t.exec(`DELETE FROM tombstones WHERE owner = ? AND turn = ?`, owner, turn)
	return wrap("drop a mark", err)
}
