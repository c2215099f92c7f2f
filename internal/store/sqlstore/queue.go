package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/loci-memory/loci/memory"
)

const jobColumns = `owner, id, kind, conversation, turns, state, attempts, run_at, created_at, error, token, lease_until`

func scanJob(row scanner) (memory.Job, error) {
	var j memory.Job
	var l memory.Lease
	err := row.Scan(&j.Owner, &j.ID, &j.Kind, &j.Conversation, asList{&j.Turns}, &j.State, &j.Attempts,
		asTime{&j.RunAt}, asTime{&j.CreatedAt}, &j.Error, &l.Token, asTime{&l.Until})
	if l.Token != "" {
		l.Owner, l.Job = j.Owner, j.ID
		j.Lease = l
	}
	return j, err
}

// enqueue queues jobs at the write's time.
func (w *write) enqueue(jobs []memory.Job) error {
	for _, j := range jobs {
		if j.RunAt = memory.Time(j.RunAt); j.RunAt.IsZero() {
			j.RunAt = w.at
		}
		_, err := w.exec(`INSERT INTO jobs (`+jobColumns+`) VALUES (?, ?, ?, ?, ?, 'queued', 0, ?, ?, '', '', 0)
			ON CONFLICT (owner, id) DO NOTHING`,
			w.owner, j.ID, j.Kind, j.Conversation, list(j.Turns), micros(j.RunAt), micros(w.at))
		if err != nil {
			return fmt.Errorf("queue job %s: %w", j.ID, err)
		}
		w.queue(func(d *due) { d.queued(line{w.owner, j.Kind}) })
	}
	return nil
}

// complete ends a job whose lease was checked.
func (t *tx) complete(owner memory.Owner, job string) error {
	_, err := t.exec(`UPDATE jobs SET state = 'done', token = '', lease_until = 0 WHERE owner = ? AND id = ?`, owner, job)
	t.queue(func(d *due) { d.ended(owner, job) })
	return wrap("complete the job", err)
}

// attempts reads how often a job that the lease holds has failed.
func (t *tx) attempts(now time.Time, owner memory.Owner, held memory.Lease) (int, error) {
	var attempts int
	err := t.row(`SELECT attempts FROM jobs WHERE owner = ? AND id = ? AND state = 'running' AND token = ? AND lease_until > ?`,
		[]any{owner, held.Job, held.Token, micros(now)}, &attempts)
	if noRows(err) || err == nil && held.Owner != owner {
		return 0, memory.Errorf(memory.LeaseLost, "job %s is not held by this worker any more", held.Job)
	}
	return attempts, wrap("check the lease", err)
}

// Claim leases the next job: see [memory.Queue].
func (s *Store) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	if lease <= 0 {
		return memory.Job{}, memory.Errorf(memory.Invalid, "a lease of %v is none", lease)
	}
	c := claiming{kinds: kinds, lease: lease}
	var err error
	if c.wanted, err = toJSON(kinds); err != nil {
		return memory.Job{}, err
	}
	if idle, err := s.idle(ctx, c); err != nil {
		return memory.Job{}, fmt.Errorf("look whether a job is due: %w", err)
	} else if idle {
		return memory.Job{}, nothingDue(kinds)
	}
	var job memory.Job
	err = s.write(ctx, func(t *tx) (err error) {
		job, err = t.claim(s.time(), c)
		return err
	})
	if err != nil {
		return memory.Job{}, err
	}
	if job.ID == "" {
		return memory.Job{}, nothingDue(kinds)
	}
	return job, nil
}

// claiming is what a claim wants.
type claiming struct {
	kinds  []memory.JobKind
	wanted string // the kinds as JSON
	lease  time.Duration
}

func nothingDue(kinds []memory.JobKind) error {
	return memory.Errorf(memory.NotFound, "no job of %q is due", kinds)
}

// idle reports whether a claim has nothing to do and need not wait for the writer.
func (s *Store) idle(ctx context.Context, c claiming) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	now := micros(s.time())
	lines, known, commits := s.writer.due.look(c.kinds, c.wanted, now)
	if known {
		return len(lines) == 0, nil
	}
	at, err := scanSoonest(s.soonest.QueryRowContext(ctx))
	if err != nil || at <= now {
		return false, err
	}
	s.writer.due.learn(at, commits)
	return true, nil
}

// claim returns the zero Job if none is due: what it took back stays so.
func (t *tx) claim(now time.Time, c claiming) (memory.Job, error) {
	next, err := t.pick(now, c)
	if err != nil || next.id == "" {
		return memory.Job{}, wrap("look for the next job", err)
	}
	until := micros(memory.Time(now.Add(c.lease)))
	job, err := scanJob(row{t, `UPDATE jobs SET state = 'running', token = ?, lease_until = ? WHERE owner = ? AND id = ?
		RETURNING ` + jobColumns, []any{rand.Text(), until, next.owner, next.id}})
	t.queue(func(d *due) { d.started(line{job.Owner, job.Kind}, job.ID, until) })
	return job, wrap("claim a job", err)
}

// waiting is a job that is queued.
type waiting struct {
	owner          memory.Owner
	id             string
	runAt, created int64
}

func (w waiting) compare(v waiting) int {
	return cmp.Or(cmp.Compare(w.runAt, v.runAt), cmp.Compare(w.created, v.created), cmp.Compare(w.owner, v.owner), cmp.Compare(w.id, v.id))
}

// pick returns the job to claim, the zero one for none. Leases are taken back first,
// if any can have run out.
func (t *tx) pick(now time.Time, c claiming) (waiting, error) {
	if len(t.w.queued) == 0 { // else the queue is not as it was committed
		if lines, known, _ := t.w.due.look(c.kinds, c.wanted, micros(now)); known {
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
		w := waiting{owner: l.owner, runAt: math.MaxInt64}
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

func (t *tx) takeBack(now time.Time) error {
	done, err := t.exec(`UPDATE jobs SET attempts = attempts + 1, token = '', lease_until = 0, error = 'the lease ran out',
		state = CASE WHEN attempts + 1 >= ? THEN 'parked' ELSE 'queued' END
		WHERE state = 'running' AND lease_until <= ?`, memory.MaxAttempts, micros(now))
	if err != nil {
		return fmt.Errorf("take back leases: %w", err)
	}
	n, err := done.RowsAffected()
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
		AND q.kind IN (SELECT value FROM json_each(?2)) ORDER BY q.run_at, q.created_at, q.owner, q.id LIMIT ?3`, due, kinds, lookahead)
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
		ORDER BY q.run_at, q.created_at, q.owner, q.id LIMIT 1`, []any{due, kinds}, &owner, &id)
	return owner, id, err
}

// Extend moves the end of a lease: see [memory.Queue].
func (s *Store) Extend(ctx context.Context, held memory.Lease, lease time.Duration) (memory.Lease, error) {
	if err := checkOwner(held.Owner); err != nil {
		return memory.Lease{}, err
	}
	if lease <= 0 {
		return memory.Lease{}, memory.Errorf(memory.Invalid, "a lease of %v is none", lease)
	}
	err := s.write(ctx, func(t *tx) error {
		now := s.time()
		if _, err := t.attempts(now, held.Owner, held); err != nil {
			return err
		}
		held.Until = memory.Time(now.Add(lease))
		until := micros(held.Until)
		t.queue(func(d *due) { d.at = min(d.at, until) }) // it may be shorter than before
		_, err := t.exec(`UPDATE jobs SET lease_until = ? WHERE owner = ? AND id = ?`, until, held.Owner, held.Job)
		return wrap("extend the lease", err)
	})
	if err != nil {
		return memory.Lease{}, err
	}
	return held, nil
}

// EndLeases lets every lease run out. It is for who just opened a file that only
// one process has at a time: whoever held them is dead. What they were at is due
// again at once, as a failed attempt.
func (s *Store) EndLeases(ctx context.Context) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE jobs SET lease_until = 1 WHERE state = 'running'`)
		t.queue((*due).forget)
		return wrap("end the leases", err)
	})
}

// Finish ends an attempt: see [memory.Queue].
func (s *Store) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	if err := checkOwner(held.Owner); err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error {
		now := s.time()
		failed, err := t.attempts(now, held.Owner, held)
		if err != nil {
			return err
		}
		if o.Done {
			return t.complete(held.Owner, held.Job)
		}
		if !o.Later {
			failed++
		}
		return t.retry(now, held, failed, o)
	})
}

func (t *tx) retry(now time.Time, held memory.Lease, attempts int, o memory.Outcome) error {
	state := memory.JobQueued
	if !o.Later && (o.Park || attempts >= memory.MaxAttempts) {
		state = memory.JobParked
	}
	at := memory.Time(o.RetryAt)
	if at.IsZero() {
		at = now
	}
	_, err := t.exec(`UPDATE jobs SET state = ?, attempts = ?, run_at = ?, error = ?, token = '', lease_until = 0
		WHERE owner = ? AND id = ?`, state, attempts, micros(at), o.Cause, held.Owner, held.Job)
	t.queue(func(d *due) { d.ended(held.Owner, held.Job) })
	return wrap("finish the attempt", err)
}

// Jobs returns an owner's jobs: see [memory.Queue].
func (s *Store) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	if len(states) == 0 {
		states = []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobParked}
	}
	wanted, err := toJSON(states)
	if err != nil {
		return nil, err
	}
	var jobs []memory.Job
	err = s.reads.look(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT `+jobColumns+` FROM jobs WHERE owner = ? AND state IN (SELECT value FROM json_each(?))
			ORDER BY created_at DESC, id DESC`, wanted)
		jobs, err = collect(rows, err, scanJob)
		return wrap("list jobs", err)
	})
	return jobs, err
}

// Requeue makes a parked job due: see [memory.Queue].
func (s *Store) Requeue(ctx context.Context, owner memory.Owner, job string) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error {
		var state memory.JobState
		err := t.row(`SELECT state FROM jobs WHERE owner = ? AND id = ?`, []any{owner, job}, &state)
		switch {
		case noRows(err):
			return memory.Errorf(memory.NotFound, "no job %s", job)
		case err != nil:
			return fmt.Errorf("read the job: %w", err)
		case state != memory.JobParked:
			return memory.Errorf(memory.Conflict, "job %s is %s, not parked", job, state)
		}
		_, err = t.exec(`UPDATE jobs SET state = 'queued', attempts = 0, error = '', run_at = ? WHERE owner = ? AND id = ?`,
			micros(s.time()), owner, job)
		t.queue((*due).forget)
		return wrap("requeue the job", err)
	})
}
