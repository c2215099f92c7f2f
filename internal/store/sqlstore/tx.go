package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tx is a transaction, as one call uses it.
type tx struct {
	ctx     context.Context
	session *session
	now     func() (time.Time, error) // the store's clock

	later   []ask       // statements not yet sent to the server
	begins  bool        // the unsent statements begin the transaction
	locked  *head       // version of the owner whose row is locked; nil if no row is locked
	changed []memoryKey // memories that the call wrote
	erases  bool        // the call erases text, so other stores are notified
	queues  bool        // the call queued a job
	marked  bool        // the call erased text, so the file must be rewritten
}

// ownerVersion is an owner's version and the time of the owner's last write.
type head struct {
	owner   memory.Owner
	version int64
	clock   time.Time
}

// currentTime returns the time of the store's clock.
func (t *tx) time() (time.Time, error) {
	if err := t.open(); err != nil {
		return time.Time{}, err
	}
	now, err := t.now()
	return memory.Time(now), err
}

// readOwnerVersion returns an owner's version and the time of the last write, both zero before the
// first write.
func (t *tx) owner(owner memory.Owner) (head, error) {
	if t.locked != nil && t.locked.owner == owner {
		err := t.open()
		return *t.locked, err
	}
	h := head{owner: owner}
	err := t.row(`SELECT version, clock FROM owners WHERE owner = ?`, []any{owner}, &h.version, asTime{&h.clock})
	if noRows(err) {
		err = nil
	}
	return h, wrap("read the owner's version", err)
}

// exec runs a statement. Statements are cached by their text, so pass values as args. With PostgreSQL
// the statement is sent with the next query or COMMIT, which then returns its error.
func (t *tx) exec(query string, args ...any) error {
	if t.session.into != nil {
		t.later = append(t.later, say(query, args...))
		return nil
	}
	_, err := t.session.exec(t.ctx, query, args...)
	return err
}

// runBatch runs the unsent statements and then these, on a server in one round trip.
func (t *tx) ask(all ...ask) error {
	all = append(t.later, all...)
	t.later, t.begins = nil, false
	if len(all) == 0 {
		return nil
	}
	return t.session.ask(t.ctx, all...)
}

// ensureBegun begins the transaction on a server, unless a query has begun it.
func (t *tx) open() error {
	if !t.begins {
		return nil
	}
	return t.ask()
}

// execCount runs a statement at once and returns the number of changed rows.
func (t *tx) count(query string, args ...any) (int64, error) {
	if err := t.ask(); err != nil {
		return 0, err
	}
	done, err := t.session.exec(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// query runs a statement that returns rows. They must be closed before the next statement.
func (t *tx) query(query string, args ...any) (rows, error) {
	if err := t.ask(); err != nil {
		return rows{}, err
	}
	return t.session.query(t.ctx, query, args...)
}

// queryRow scans the first row of a query into dest, or returns [sql.ErrNoRows].
func (t *tx) row(query string, args []any, into ...any) error {
	found := false
	err := t.ask(ask{query, args, func(row scanner) error {
		if found {
			return nil
		}
		found = true
		return row.Scan(into...)
	}})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}
