package sqlstore

import (
	"context"
	"fmt"
	"time"
)

const (
	// sweepEvery is how long a job whose hint was lost may have to wait.
	sweepEvery = time.Minute
	// sweepPage bounds the lines that one statement of a sweep looks at, so that it ends
	// soon, whatever there is to do.
	sweepPage = 1000
	// sweep writes the hints that are missing or late of the lines that follow (?1, ?2), at
	// most ?3. Of each line it looks at the first job. ours is whether no other server was
	// at it; left whether more may follow the line that is returned.
	sweep = `WITH RECURSIVE one AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(` + sweepLock + `, 'due'::regclass::oid::int) AND ` + loosely + ` AS ours),
		waiting (owner, kind, run_at, created_at) AS (
			(SELECT owner, kind, run_at, created_at FROM jobs WHERE state = 'queued' AND (owner, kind) > (?1, ?2) AND (SELECT ours FROM one)
				ORDER BY owner, kind, run_at, created_at, id LIMIT 1)
			UNION ALL SELECT n.* FROM waiting w, LATERAL (SELECT j.owner, j.kind, j.run_at, j.created_at FROM jobs j
				WHERE j.state = 'queued' AND (j.owner, j.kind) > (w.owner, w.kind) ORDER BY j.owner, j.kind, j.run_at, j.created_at, j.id LIMIT 1) n),
		queued AS MATERIALIZED (SELECT * FROM waiting LIMIT ?3::bigint),
		running AS MATERIALIZED (SELECT owner, kind, min(lease_until) AS until FROM jobs WHERE state = 'running' AND (owner, kind) > (?1, ?2) AND (SELECT ours FROM one)
			GROUP BY owner, kind ORDER BY owner, kind LIMIT ?3::bigint),
		lines AS MATERIALIZED (SELECT owner, kind, coalesce(r.until, q.run_at) AS at, CASE WHEN r.until IS NULL THEN q.created_at ELSE 0 END AS created,
			r.until IS NOT NULL AS leased FROM queued q FULL JOIN running r USING (owner, kind) ORDER BY owner, kind LIMIT ?3::bigint),
		told AS (INSERT INTO due (owner, kind, at, created, leased, n)
			SELECT l.owner, l.kind, l.at, l.created, l.leased, 1 FROM lines l LEFT JOIN due d ON d.owner = l.owner AND d.kind = l.kind
			WHERE d.owner IS NULL OR (l.at, l.created) < (d.at, d.created) ORDER BY l.owner, l.kind` +
		earlier + ` WHERE (excluded.at, excluded.created) < (due.at, due.created))
		SELECT ours, (SELECT count(*) FROM lines) = ?3::bigint, coalesce(l.owner, ''), coalesce(l.kind, '')
		FROM one LEFT JOIN (SELECT owner, kind FROM lines ORDER BY owner DESC, kind DESC LIMIT 1) l ON true`
	// sweepLock is the first number of the advisory lock of who sweeps; the second is of the
	// table: "swee" in ASCII.
	sweepLock = `1937204581`
)

// sweepNext has the next who looks for work sweep first.
func (p *server) sweepNext() { p.swept.Store(0) }

// sweepIfDue makes the hints that are missing, if nobody here did so for long. It goes by
// this machine's clock: how long is not told to anybody. A sweep that fails is made again
// when the next is due: there are hints without it. Its error is ctx's.
func (p *server) sweepIfDue(ctx context.Context) error {
	last, now := p.swept.Load(), int64(time.Since(processStart))+1
	if last != 0 && now-last < int64(sweepEvery) || !p.swept.CompareAndSwap(last, now) {
		return nil
	}
	err := p.sweep(ctx)
	if err != nil && ctx.Err() != nil {
		p.swept.CompareAndSwap(now, last)
		return ctx.Err()
	}
	if err != nil && p.log != nil {
		p.log.Warn("jobs whose hints were lost could not be looked for", "err", err)
	}
	return nil
}

// processStart is what sweeps count from, so that a clock that is set changes nothing.
var processStart = time.Now()

// sweep goes through the lines of all owners, unless another server does at the time.
func (p *server) sweep(ctx context.Context) error {
	var after line
	for ours, left := true, true; ours && left; {
		found, err := p.db.QueryContext(ctx, p.into.text(sweep), p.into.values([]any{after.owner, after.kind, sweepPage})...)
		if err := only(rows{found, p.into}, err, &ours, &left, &after.owner, &after.kind); err != nil {
			return fmt.Errorf("look for work that nobody was told of: %w", err)
		}
	}
	return nil
}
