package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tx is a transaction as one call sees it.
type tx struct {
	ctx     context.Context
	session *session
	now     func() (time.Time, error) // the store's clock

	later   []statement     // that a server is still to be told of
	others  int             // how many of them others left who are in the same transaction
	after   []statement     // that it is told once this is committed, and that may be lost
	told    bool            // the server was asked or told something
	writes  bool            // and that was no question alone
	ahead   []answer        // that a server gave already
	touched map[string]bool // what those answers may say no more: see [tx.stale]
	blurred bool            // they may all do so
	precise bool            // the call tells of all that it writes to
	locked  *head           // of the owner that the transaction is for; nil: see the database
	witness statement       // finds a row if this transaction was committed; without one, see its number
	changed []memoryKey     // memories that were written
	queued  []func(*due)    // what was done to the queue
	added   []lineHint      // of that, the jobs that were queued: one for each such step
	erases  bool            // words of the owner's: other servers are told
	marked  bool            // the file may still have erased words
	queues  bool            // whether a job was added to it
}

// head is an owner's version and the time of the last write.
type head struct {
	owner   memory.Owner
	version int64
	clock   time.Time
}

// time is the store's clock.
func (t *tx) time() (time.Time, error) {
	now, err := t.now()
	return memory.Time(now), err
}

// owner reads an owner's version and clock; both are zero for one never written.
func (t *tx) owner(owner memory.Owner) (head, error) {
	if t.locked != nil && t.locked.owner == owner {
		return *t.locked, nil
	}
	h := head{owner: owner}
	err := t.row(`SELECT version, clock FROM owners WHERE owner = ?`, []any{owner}, &h.version, asTime{&h.clock})
	if noRows(err) {
		err = nil
	}
	return h, wrap("read the owner's version", err)
}

// queue notes what the call does to the queue, should it be committed.
func (t *tx) queue(step func(*due)) { t.queued = append(t.queued, step) }

// exec runs a statement. Statements are prepared once and kept, so query must be
// one of a few fixed texts. A server is told of it with the next that has an answer,
// or with the commit, so that each does not take its own way there and back; what
// it says against it comes with that one's error.
func (t *tx) exec(query string, args ...any) error {
	if into := t.session.into; into != nil {
		t.later = append(t.later, statement{into.text(query), into.values(args)})
		return nil
	}
	_, err := t.session.exec(t.ctx, query, args...)
	return err
}

// count runs a statement and says how many rows it changed.
func (t *tx) count(query string, args ...any) (int64, error) {
	t.writes = true
	if err := t.session.send(t.ctx, t.take()...); err != nil {
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
	t.writes = t.writes || !strings.HasPrefix(query, "SELECT")
	if err := t.session.send(t.ctx, t.take()...); err != nil {
		return rows{}, err
	}
	return t.session.query(t.ctx, query, args...)
}

// take returns the statements that the server was not told of yet. They are its own
// words.
func (t *tx) take() []statement {
	waiting := t.later
	t.told, t.writes = true, t.writes || len(waiting) > t.others
	t.later, t.others = nil, 0
	return waiting
}

// leaves says by which row a server's transaction is known again. It is in our words.
func (t *tx) leaves(query string, args ...any) { t.witness = statement{query, args} }

// statement is one with its arguments.
type statement struct {
	text string
	args []any
}

// row is a query for one row, which runs when it is scanned.
type row struct {
	tx    *tx
	query string
	args  []any
}

func (r row) Scan(into ...any) error { return r.tx.row(r.query, r.args, into...) }

// row scans the one row of a query; [sql.ErrNoRows] without one.
func (t *tx) row(query string, args []any, into ...any) error {
	found, err := t.query(query, args...)
	return only(found, err, into...)
}
