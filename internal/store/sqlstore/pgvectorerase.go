package sqlstore

import (
	"strings"

	"github.com/loci-memory/loci/memory"
)

// eraseNear takes what is erased out of the copies, in the transaction that erases it:
// its row, and the terms that nothing else has; of an owner who has nothing left, all.
// Another server may have begun a copy since this one was opened. A copy that is of no use
// is removed whole.
func (t *tx) eraseNear(owner memory.Owner, ids []string) error {
	var there, useful bool
	if err := t.row(`SELECT to_regclass('near') IS NOT NULL AND to_regclass('near_state') IS NOT NULL, (`+isUseful+`)`, nil, &there, &useful); err != nil || !there {
		return err
	}
	rows, err := t.query(`SELECT model FROM near_state WHERE owner = ? ORDER BY model FOR UPDATE`, owner)
	models, err := collect(rows, err, func(row scanner) (m string, err error) { return m, row.Scan(&m) })
	if err != nil || len(models) == 0 {
		return err
	}
	left := 0
	if useful {
		if err := t.dropNear(owner, ids, models); err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM near_terms WHERE owner = ? AND n <= 0`, owner); err != nil {
			return err
		}
		if err := t.row(`SELECT coalesce(max(memories), 0) FROM near_state WHERE owner = ?`, []any{owner}, &left); err != nil || left > 0 {
			return err
		}
	}
	for _, table := range []string{"near", "near_terms", "near_state"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE owner = ?`, owner); err != nil {
			return err
		}
	}
	return t.dropNearIndexes(owner, models)
}

func (t *tx) dropNear(owner memory.Owner, ids, models []string) error {
	rows, err := t.query(dropNear, owner, listed(ids), listed(models), listed{})
	touched, err := threadsOf(rows, err)
	if err != nil {
		return err
	}
	for _, m := range models {
		if err := t.exec(putState, owner, m, touched[m], nil, nil, 0, 0, 0, 0, 0, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// dropNearIndexes removes the indexes of an owner, whose conditions have the owner's name.
// Where somebody else has the table for longer it leaves them to [Store.TidyNear].
func (t *tx) dropNearIndexes(owner memory.Owner, models []string) error {
	names := make([]string, 0, 2*len(models))
	for _, m := range models {
		names = append(names, nearName(owner, m)+"_words", nearName(owner, m)+"_vectors")
	}
	for _, text := range []string{`SAVEPOINT near`, `SET LOCAL lock_timeout = '200ms'`} {
		if _, err := t.count(text); err != nil {
			return err
		}
	}
	if _, err := t.session.conn.ExecContext(t.ctx, `DROP INDEX IF EXISTS `+strings.Join(names, ", ")); err != nil {
		if !refused(err) {
			return err
		}
		_, err = t.count(`ROLLBACK TO SAVEPOINT near`)
		return err
	}
	for _, text := range []string{`SET LOCAL lock_timeout TO DEFAULT`, `RELEASE SAVEPOINT near`} {
		if _, err := t.count(text); err != nil {
			return err
		}
	}
	return nil
}
