package sqlstore

import (
	"context"
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
			var busy []lineHint
			for _, h := range found {
				job, held, err := p.visit(ctx, h, how, c.lease)
				if err != nil || job.ID != "" {
					return job, err
				}
				if !held {
					busy = append(busy, h)
				}
			}
			found = busy
		}
		// Hints were early, or others were quicker. There may be more.
	}
}

// visit takes back a line's leases that ran out and leases its first job, the zero Job if
// that is not due as the hint has it, or if lease is 0; then it corrects the hint.
func (p *server) visit(ctx context.Context, h lineHint, how taking, lease time.Duration) (job memory.Job, held bool, err error) {
	var at, created int64
	leased := false
	held, err = p.hold(ctx, h.owner, how, func(t *tx) error {
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
		var until, runAt, made *int64
		var id *string
		err = t.row(`SELECT (SELECT min(lease_until) FROM jobs WHERE owner = ?1 AND kind = ?2 AND state = 'running'), q.id, q.run_at, q.created_at
			FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT id, run_at, created_at FROM jobs WHERE owner = ?1 AND kind = ?2 AND state = 'queued'
				ORDER BY run_at, created_at, id LIMIT 1) q ON true`, []any{h.owner, h.kind}, &until, &id, &runAt, &made)
		switch {
		case err != nil:
			return wrap("look at a line", err)
		case until != nil:
			at, leased = *until, true
			return nil
		case id == nil:
			return nil
		}
		at, created = *runAt, *made
		late := h.leased || at > h.at || at == h.at && created > h.created // others may be before it
		if lease == 0 || late || at > micros(now) {
			return nil
		}
		if job, err = t.start(now, h.owner, unescape(*id), lease); err != nil {
			return err
		}
		t.queued = nil // the hint is corrected, not made earlier
		at, created, leased = micros(job.Lease.Until), 0, true
		return nil
	})
	if err != nil || !held {
		return job, held, err
	}
	if err := p.correct(ctx, h, at, created, leased); err != nil {
		if job.ID == "" {
			return job, held, p.answer(ctx, explainServer(err))
		}
		p.sweepNext() // it is early, at worst
	}
	return job, held, nil
}
