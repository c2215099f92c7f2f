package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tx is a transaction as one call sees it.
type tx struct {
	ctx     context.Context
	session *session
	now     func() (time.Time, error) // the store's clock

	later   []ask       // not sent to the server yet
	begins  bool        // they begin the transaction
	locked  *head       // of the owner that the transaction is for; nil: see the database
	changed []memoryKey // written memories
	erases  bool        // erases an owner's text: other servers are notified
	queues  bool        // adds a job to the queue
	marked  bool        // the file may still have erased words
}

// head is an owner's version and the time of the last write.
type head struct {
	owner   memory.Owner
	version int64
	clock   time.Time
}

// time returns the store's time.
func (t *tx) time() (time.Time, error) {
	if err := t.open(); err != nil {
		return time.Time{}, err
	}
	now, err := t.now()
	return memory.Time(now), err
}

// owner reads an owner's version and clock; both are zero for one never written.
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

// exec runs a statement. Statements are prepared once and kept, so query must be one of a few fixed
// texts. A server gets it with the next question, or with the commit, whose error is then its own.
func (t *tx) exec(query string, args ...any) error {
	if t.session.into != nil {
		t.later = append(t.later, say(query, args...))
		return nil
	}
	_, err := t.session.exec(t.ctx, query, args...)
	return err
}

// ask asks questions, on a server in one round trip with outstanding statements.
func (t *tx) ask(all ...ask) error {
	all = append(t.later, all...)
	t.later, t.begins = nil, false
	if len(all) == 0 {
		return nil
	}
	return t.session.ask(t.ctx, all...)
}

// open begins the transaction on a server, unless a question did.
func (t *tx) open() error {
	if !t.begins {
		return nil
	}
	return t.ask()
}

// count runs a statement and returns how many rows it changed.
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

// query is exec for rows; they must be closed before the next statement.
func (t *tx) query(query string, args ...any) (rows, error) {
	if err := t.ask(); err != nil {
		return rows{}, err
	}
	return t.session.query(t.ctx, query, args...)
}

// row scans the first row of a query; [sql.ErrNoRows] without one.
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
