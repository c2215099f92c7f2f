package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tx is the view that one call has of a transaction.
type tx struct {
	ctx     context.Context
	session *session
	now     func() (time.Time, error) // the store's clock

	later   []ask       // statements that were not sent to the server yet
	begins  bool        // the unsent statements begin the transaction
	locked  *head       // the head of the transaction's owner; nil: read it from the database
	changed []memoryKey // written memories
	erases  bool        // the call erases text: other servers are notified
	queues  bool        // the call queues a job
	marked  bool        // the file may still contain erased text
}

// head is an owner's version and the time of the owner's last write.
type head struct {
	owner   memory.Owner
	version int64
	clock   time.Time
}

// time returns the time of the store's clock.
func (t *tx) time() (time.Time, error) {
	if err := t.open(); err != nil {
		return time.Time{}, err
	}
	now, err := t.now()
	return memory.Time(now), err
}

// owner reads an owner's version and clock; both are zero if nothing was written for the owner.
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

// exec runs a statement. Prepared statements are kept, so query must be one of a few constants. A
// server gets the statement with the next query or commit, and only then reports an error.
func (t *tx) exec(query string, args ...any) error {
	if t.session.into != nil {
		t.later = append(t.later, say(query, args...))
		return nil
	}
	_, err := t.session.exec(t.ctx, query, args...)
	return err
}

// ask runs queries, on a server in one round trip with unsent statements.
func (t *tx) ask(all ...ask) error {
	all = append(t.later, all...)
	t.later, t.begins = nil, false
	if len(all) == 0 {
		return nil
	}
	return t.session.ask(t.ctx, all...)
}

// open begins the transaction on a server, if no query has begun it.
func (t *tx) open() error {
	if !t.begins {
		return nil
	}
	return t.ask()
}

// count runs a statement and returns the number of changed rows.
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

// row scans the first row of a query, or returns [sql.ErrNoRows].
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
