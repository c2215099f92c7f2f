package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

const (
	// claimTime is the store's clock, which is its argument or the server's.
	claimTime = `(SELECT coalesce(?1::bigint, ` + serverTime + `))`
	// claimNext passes over jobs that others are about to claim. Two that claim jobs of one
	// owner and kind at once are told apart by the index jobs_running.
	claimNext = `WITH next (of, job, now) AS MATERIALIZED (SELECT q.owner, q.id, ` + claimTime + ` FROM jobs q
			WHERE q.state = 'queued' AND q.run_at <= ` + claimTime + ` AND q.kind IN (SELECT value FROM json_each(?2))
			AND (q.owner, q.kind) NOT IN (SELECT owner, kind FROM jobs WHERE state = 'running')
			ORDER BY q.run_at, q.created_at, q.owner, q.kind, q.id LIMIT 1 FOR UPDATE OF q SKIP LOCKED)
		UPDATE jobs SET state = 'running', token = ?3, lease_until = next.now + ?4 FROM next
		WHERE owner = next.of AND id = next.job RETURNING ` + jobColumns
)

var claimLate = takeBackJobs + `WHERE (owner, id) IN (SELECT owner, id FROM jobs
	WHERE state = 'running' AND lease_until <= ` + claimTime + ` FOR UPDATE SKIP LOCKED)`

// claim takes back the leases that ran out and leases the next job, both in one go. If the
// answer is lost, so is a lease, which runs out.
func (p *server) claim(ctx context.Context, c claiming) (job memory.Job, err error) {
	if err := p.enter(ctx); err != nil {
		return memory.Job{}, err
	}
	defer p.mu.RUnlock()
	var now any
	kinds := make(listed, len(c.kinds))
	for i, k := range c.kinds {
		kinds[i] = string(k)
	}
	err = persist(ctx, retry.WritePatience, func() (bool, error) {
		if p.now != nil {
			now = micros(memory.Time(p.now()))
		}
		conn, err := p.db.Conn(ctx)
		if err != nil {
			return true, fmt.Errorf("open a connection to claim: %w", err)
		}
		s := &session{conn: conn, into: p.into}
		defer s.release()
		job = memory.Job{}
		err = s.ask(ctx, say(claimLate, now), ask{claimNext, []any{now, kinds, rand.Text(), c.lease.Microseconds()},
			func(row scanner) (err error) { job, err = scanJob(row); return err }})
		var e *pgconn.PgError
		if errors.As(err, &e) && e.Code == "23505" { // another claimed one of the same line
			err = &notDone{err}
		}
		return true, err
	})
	return job, p.answer(ctx, wrap("look for the next job", err))
}
