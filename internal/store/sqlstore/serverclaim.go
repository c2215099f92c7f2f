package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
)

// claim leases the next job. Where there may be one the table due says, of all owners; the
// job is then taken within its owner's transaction, where nobody else is.
func (p *server) claim(ctx context.Context, c claiming) (memory.Job, error) {
	if err := p.sweepIfDue(ctx); err != nil {
		return memory.Job{}, err
	}
	p.giveMissed(ctx)
look:
	for {
		found, err := p.hints(ctx, c)
		if err != nil {
			return memory.Job{}, fmt.Errorf("look for the next job: %w", err)
		}
		ran := false
		for _, h := range found {
			if h.leased { // first every lease that ran out is taken back
				ran = true
				if _, _, err := p.visit(ctx, h, patient, 0); err != nil {
					return memory.Job{}, err
				}
			}
		}
		if ran {
			continue
		}
		if len(found) == 0 {
			return memory.Job{}, nil
		}
		for _, how := range []taking{willing, patient} {
			for _, h := range found {
				job, held, err := p.visit(ctx, h, how, c.lease)
				if err != nil || job.ID != "" {
					return job, err
				}
				if held { // the hint was early, or others were quicker: what is due there may still be before the next
					continue look
				}
			}
		}
	}
}

// visit takes back a line's leases that ran out and leases its first job, the zero Job if
// that is not due as the hint has it, or if lease is 0; then it corrects the hint.
func (p *server) visit(ctx context.Context, h lineHint, how taking, lease time.Duration) (job memory.Job, held bool, err error) {
	asks := []question{lineOf(h.line)}
	if h.leased { // what is taken back first it is to know
		asks = nil
	}
	var at, created int64
	leased := false
	held, err = p.hold(ctx, h.owner, how, asks, func(t *tx) error {
		job, at, created, leased = memory.Job{}, 0, 0, false
		now, err := t.time()
		if err != nil {
			return err
		}
		if h.leased {
			if err := t.exec(takeBackOf+` AND owner = ? AND kind = ?`, memory.MaxAttempts, micros(now), h.owner, h.kind); err != nil {
				return fmt.Errorf("take back leases: %w", err)
			}
		}
		until, first, err := t.lineUp(h.line)
		switch {
		case err != nil:
			return wrap("look at a line", err)
		case until != 0:
			at, leased = until, true
			return nil
		case first.ID == "":
			return nil
		}
		at, created = micros(first.RunAt), micros(first.CreatedAt)
		late := h.leased || at > h.at || at == h.at && created > h.created // others may be before it
		if lease == 0 || late || at > micros(now) {
			return nil
		}
		if job, err = t.lease(now, first, lease); err != nil {
			return err
		}
		t.after = append(t.after, p.correction(h, micros(job.Lease.Until), 0, true)) // lost, it is early, at worst
		return nil
	})
	if err != nil || !held || job.ID != "" {
		return job, held, err
	}
	c := p.correction(h, at, created, leased)
	if _, err := p.db.ExecContext(ctx, c.text, c.args...); err != nil {
		return job, held, p.answer(ctx, explainServer(fmt.Errorf("correct a hint: %w", err)))
	}
	return job, held, nil
}

// lineOf asks when the lease of a line's running job ends, and for the first that is queued.
func lineOf(l line) question {
	return question{statement{`SELECT (SELECT min(lease_until) FROM jobs WHERE owner = ?1 AND kind = ?2 AND state = 'running'),
		q.id, q.conversation, q.turns, q.error, q.attempts, q.run_at, q.created_at
		FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT id, conversation, turns, error, attempts, run_at, created_at FROM jobs
			WHERE owner = ?1 AND kind = ?2 AND state = 'queued' ORDER BY run_at, created_at, id LIMIT 1) q ON true`, []any{l.owner, l.kind}}, nil, nil}
}

// lineUp returns when the lease of a line's running job ends, 0 if none runs, and the first
// that is queued, the zero Job if none is.
func (t *tx) lineUp(l line) (until int64, first memory.Job, err error) {
	var lease, attempts, runAt, created sql.NullInt64
	var id, conversation, turns, failed sql.NullString
	err = asked{t, lineOf(l)}.Scan(&lease, &id, &conversation, &turns, &failed, &attempts, &runAt, &created)
	if err != nil || !id.Valid {
		return lease.Int64, memory.Job{}, err
	}
	first = memory.Job{
		ID: id.String, Owner: l.owner, Kind: l.kind, Conversation: conversation.String, State: memory.JobQueued,
		Attempts: int(attempts.Int64), RunAt: fromMicros(runAt.Int64), CreatedAt: fromMicros(created.Int64), Error: failed.String,
	}
	return lease.Int64, first, asList{&first.Turns}.Scan(turns.String)
}

// lease leases a job that is queued, as it was read in this transaction.
func (t *tx) lease(now time.Time, job memory.Job, lease time.Duration) (memory.Job, error) {
	job.State = memory.JobRunning
	job.Lease = memory.Lease{Owner: job.Owner, Job: job.ID, Token: rand.Text(), Until: memory.Time(now.Add(lease))}
	t.leaves(`SELECT attempts FROM jobs WHERE owner = ? AND id = ? AND token = ?`, job.Owner, job.ID, job.Lease.Token)
	err := t.exec(`UPDATE jobs SET state = 'running', token = ?, lease_until = ? WHERE owner = ? AND id = ?`,
		job.Lease.Token, micros(job.Lease.Until), job.Owner, job.ID)
	return job, wrap("claim a job", err)
}
