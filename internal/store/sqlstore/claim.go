package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/loci-memory/loci/memory"
)

// claim leases the next job. Who looks in vain does not wait for the writer's turn.
func (w *writer) claim(ctx context.Context, c claiming) (job memory.Job, err error) {
	if w.damage.err() != nil { // what cannot be ended is not begun
		return memory.Job{}, nil
	}
	if idle, err := w.idle(ctx, c); err != nil || idle {
		return memory.Job{}, wrap("look whether a job is due", err)
	}
	err = w.write(ctx, "", func(t *tx) error {
		now, err := t.time()
		if err != nil {
			return err
		}
		next, err := w.pick(t, now, c)
		if err != nil || next.id == "" { // what was taken back stays so
			return wrap("look for the next job", err)
		}
		job, err = t.start(now, next.owner, next.id, c.lease)
		return err
	})
	return job, err
}

// idle reports whether a claim has nothing to do.
func (w *writer) idle(ctx context.Context, c claiming) (bool, error) {
	now := micros(memory.Time(w.now()))
	lines, known, commits := w.known.due.look(c.kinds, c.wanted, now)
	if known {
		return len(lines) == 0, nil
	}
	rows, err := w.reads.ask(ctx, soonest)
	var at int64
	if err == nil {
		at, err = scanSoonest(one{rows})
	}
	if err = w.damage.note(err); err != nil || at <= now {
		return false, err
	}
	w.known.due.learn(at, commits)
	return true, nil
}

// waiting is a job that is queued.
type waiting struct {
	owner          memory.Owner
	kind           memory.JobKind
	id             string
	runAt, created int64
}

func (w waiting) compare(v waiting) int {
	return cmp.Or(cmp.Compare(w.runAt, v.runAt), cmp.Compare(w.created, v.created), cmp.Compare(w.owner, v.owner), cmp.Compare(w.kind, v.kind), cmp.Compare(w.id, v.id))
}

// pick returns the job to claim, the zero one for none. Leases are taken back first,
// if any can have run out.
func (w *writer) pick(t *tx, now time.Time, c claiming) (waiting, error) {
	if len(w.queued) == 0 { // else the queue is not as it was committed
		if lines, known, _ := w.known.due.look(c.kinds, c.wanted, micros(now)); known {
			return t.first(lines, micros(now))
		}
	}
	if err := t.takeBack(now); err != nil {
		return waiting{}, err
	}
	owner, id, err := t.next(now, c.wanted)
	if noRows(err) {
		after, err := scanSoonest(row{t, nextOf, []any{micros(now)}})
		t.queue(func(d *due) { d.nothing(c.wanted, after) })
		return waiting{}, err
	}
	return waiting{owner: owner, id: id}, err
}

// first returns the job that has been due the longest of those that are the first in
// their lines, the zero one for none.
func (t *tx) first(lines []line, now int64) (best waiting, err error) {
	for _, l := range lines {
		w := waiting{owner: l.owner, kind: l.kind, runAt: math.MaxInt64}
		err := t.row(`SELECT id, run_at, created_at FROM jobs INDEXED BY jobs_queued WHERE owner = ?1 AND kind = ?2 AND state = 'queued'
			AND NOT EXISTS (SELECT 1 FROM jobs WHERE owner = ?1 AND kind = ?2 AND state = 'running')
			ORDER BY run_at, created_at, id LIMIT 1`, []any{l.owner, l.kind}, &w.id, &w.runAt, &w.created)
		if err != nil && !noRows(err) {
			return waiting{}, err
		}
		if w.runAt > now {
			t.queue(func(d *due) { d.next(l, w.runAt) })
		} else if best.id == "" || w.compare(best) < 0 {
			best = w
		}
	}
	return best, nil
}

// takeBackJobs makes jobs due again whose leases ran out. The error counts the attempts in a
// row that were abandoned.
var takeBackJobs = fmt.Sprintf(`UPDATE jobs SET attempts = attempts + 1, token = '', lease_until = 0,
	error = CASE error WHEN '%[1]s' THEN '%[2]s' WHEN '%[2]s' THEN '%[3]s' ELSE '%[1]s' END,
	state = CASE WHEN attempts + 1 >= %[4]d OR error = '%[2]s' THEN 'parked' ELSE 'queued' END `,
	memory.AbandonedError(1), memory.AbandonedError(2), memory.AbandonedError(3), memory.MaxAttempts)

func (t *tx) takeBack(now time.Time) error {
	n, err := t.count(takeBackJobs+`WHERE state = 'running' AND lease_until <= ?`, micros(now))
	if err != nil {
		return fmt.Errorf("take back leases: %w", err)
	}
	if n > 0 {
		t.queue((*due).forget)
	}
	return err
}

// lookahead is how many of the longest due jobs are looked at one by one.
const lookahead = 64

// next returns the job that has been due the longest, of owners who have none of
// its kind running; [sql.ErrNoRows] without one. It looks at the longest due and,
// should their owners all be at work, at the first that each owner has: one owner
// may have queued very many.
func (t *tx) next(now time.Time, kinds string) (owner memory.Owner, id string, err error) {
	due := micros(now)
	rows, err := t.query(`SELECT q.owner, q.id, EXISTS (SELECT 1 FROM jobs r WHERE r.owner = q.owner AND r.kind = q.kind AND r.state = 'running')
		FROM jobs q INDEXED BY jobs_due WHERE q.state = 'queued' AND q.run_at <= ?1
		AND q.kind IN (SELECT value FROM json_each(?2)) ORDER BY q.run_at, q.created_at, q.owner, q.kind, q.id LIMIT ?3`, due, kinds, lookahead)
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	for seen := 1; ; seen++ {
		if !rows.Next() {
			return "", "", cmp.Or(rows.Err(), sql.ErrNoRows)
		}
		var waits bool
		if err := rows.Scan(&owner, &id, &waits); err != nil || !waits {
			return owner, id, err
		}
		if seen == lookahead {
			break
		}
	}
	err = t.row(`WITH RECURSIVE waiting (owner) AS (
			SELECT (SELECT min(owner) FROM jobs INDEXED BY jobs_queued WHERE state = 'queued')
			UNION ALL SELECT (SELECT min(owner) FROM jobs INDEXED BY jobs_queued WHERE state = 'queued' AND owner > w.owner)
			FROM waiting w WHERE w.owner IS NOT NULL)
		SELECT q.owner, q.id FROM waiting w JOIN json_each(?2) k JOIN jobs q ON q.rowid = (
			SELECT j.rowid FROM jobs j INDEXED BY jobs_queued WHERE j.owner = w.owner AND j.kind = k.value
			AND j.state = 'queued' AND j.run_at <= ?1 ORDER BY j.run_at, j.created_at, j.id LIMIT 1)
		WHERE NOT EXISTS (SELECT 1 FROM jobs r WHERE r.owner = q.owner AND r.kind = q.kind AND r.state = 'running')
		ORDER BY q.run_at, q.created_at, q.owner, q.kind, q.id LIMIT 1`, []any{due, kinds}, &owner, &id)
	return owner, id, err
}
