package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// dueJobQuery selects the job that has been due longest and whose owner has no running job of the same
// kind.
const dueJobQuery = `SELECT q.owner, q.id FROM jobs q WHERE q.state = 'queued' AND q.run_at <= %[1]s AND q.kind IN (SELECT value FROM json_each(?2))
	AND (q.owner, q.kind) NOT IN (SELECT owner, kind FROM jobs WHERE state = 'running')
	ORDER BY q.run_at, q.created_at, q.owner, q.kind, q.id LIMIT 1`

// anyDueQuery checks whether a job is due or a lease has expired.
var anyDueQuery = sync.OnceValue(func() string {
	return `SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND lease_until <= ?1) OR EXISTS (` + fmt.Sprintf(dueJobQuery, `?1`) + `)`
})

// claimStatements holds the SQL of a claim. requeueQuery requeues jobs whose lease expired, and counts
// their attempts as abandoned; leaseQuery leases the next due job.
type claimStatements struct{ requeueQuery, leaseQuery string }

// newClaimStatements returns the SQL for a dialect. clockExpr is the SQL expression of the current time;
// in it, ?1 is the store's time. skipLockedClause makes SELECT skip locked rows; it is empty with SQLite.
func newClaimStatements(clockExpr, skipLockedClause string) claimStatements {
	return claimStatements{
		fmt.Sprintf(`UPDATE jobs SET attempts = attempts + 1, token = '', lease_until = 0,
			error = CASE error WHEN '%[1]s' THEN '%[2]s' WHEN '%[2]s' THEN '%[3]s' ELSE '%[1]s' END,
			state = CASE WHEN attempts + 1 >= %[4]d OR error = '%[2]s' THEN 'parked' ELSE 'queued' END
			WHERE (owner, id) IN (SELECT owner, id FROM jobs WHERE state = 'running' AND lease_until <= %[5]s%[6]s)`,
			memory.AbandonedError(1), memory.AbandonedError(2), memory.AbandonedError(3), memory.MaxAttempts, clockExpr, skipLockedClause),
		fmt.Sprintf(`WITH next (of, job) AS MATERIALIZED (`+dueJobQuery+`%[2]s)
			UPDATE jobs SET state = 'running', token = ?3, lease_until = %[1]s + ?4 FROM next
			WHERE owner = next.of AND id = next.job RETURNING owner, `+jobColumns, clockExpr, skipLockedClause),
	}
}

var (
	sqliteClaimStatements   = sync.OnceValue(func() claimStatements { return newClaimStatements(`?1`, ``) })
	postgresClaimStatements = sync.OnceValue(func() claimStatements {
		return newClaimStatements(`(SELECT coalesce(?1::bigint, `+serverTimeExpr+`))`, ` FOR UPDATE SKIP LOCKED`)
	})
)

// bindArgs returns both statements with their arguments; the second one scans the leased job into job. If
// now is nil, they use the server's clock.
func (c claimStatements) bindArgs(now any, kinds textList, duration time.Duration, job *memory.Job) []statement {
	return []statement{newExecStatement(c.requeueQuery, now), {c.leaseQuery, []any{now, kinds, rand.Text(), duration.Microseconds()},
		func(row scanner) (err error) { *job, err = scanJob(row); return err }}}
}

// claim leases the next job. Workers call it often, so it writes only if a read finds a due job.
func (w *writer) claim(ctx context.Context, kinds textList, duration time.Duration) (job memory.Job, err error) {
	if w.damage.err() != nil { // a damaged store could not store the job's result
		return memory.Job{}, nil
	}
	now := toMicros(memory.Time(w.now()))
	if due, err := queryOne[bool](ctx, w.reader, anyDueQuery(), now, kinds); err != nil || !due {
		return memory.Job{}, wrap("check for due jobs", err)
	}
	err = w.write(ctx, "", func(t *tx) error {
		return wrap("claim a job", t.runBatch(sqliteClaimStatements().bindArgs(now, kinds, duration, &job)...))
	})
	return job, err
}

// claim requeues jobs whose lease expired and leases the next job, in one round trip. If the server's
// answer is lost, the leased job is due again when the lease expires.
func (p *server) claim(ctx context.Context, kinds textList, duration time.Duration) (job memory.Job, err error) {
	if err := p.lockIfOpen(ctx); err != nil {
		return memory.Job{}, err
	}
	defer p.mu.RUnlock()
	err = withRetries(ctx, retry.WritePatience, func() (bool, error) {
		var now any
		if p.now != nil {
			now = toMicros(memory.Time(p.now()))
		}
		conn, err := p.db.Conn(ctx)
		if err != nil {
			return true, fmt.Errorf("open a connection to claim: %w", err)
		}
		s := &session{conn: conn, translator: p.translator}
		defer s.release()
		job = memory.Job{}
		err = s.runBatch(ctx, postgresClaimStatements().bindArgs(now, kinds, duration, &job)...)
		var e *pgconn.PgError
		if errors.As(err, &e) && e.Code == "23505" { // another Loci server claimed a job of this owner and kind
			err = &notWrittenError{err}
		}
		return true, err
	})
	return job, p.callerError(ctx, wrap("claim a job", err))
}
