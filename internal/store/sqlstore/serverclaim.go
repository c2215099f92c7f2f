package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
)

// claim leases the next job. Which line has one is looked for over all owners, without
// holding anything; the job is then taken within its owner's transaction, where nobody
// else is.
func (p *server) claim(ctx context.Context, c claiming) (memory.Job, error) {
	if err := p.takeBack(ctx); err != nil {
		return memory.Job{}, err
	}
	for {
		lines, err := p.lines(ctx, c)
		if err != nil {
			return memory.Job{}, fmt.Errorf("look for the next job: %w", err)
		}
		if len(lines) == 0 {
			return memory.Job{}, nil
		}
		for _, how := range []taking{willing, patient} {
			var busy []line
			for _, l := range lines {
				job, held, err := p.take(ctx, l, how, c.lease)
				if err != nil || job.ID != "" {
					return job, err
				}
				if !held {
					busy = append(busy, l)
				}
			}
			lines = busy
		}
		// Others were quicker with all of them. There may be more.
	}
}

// take leases the first job of a line, the zero Job if none is due any more.
func (p *server) take(ctx context.Context, l line, how taking, lease time.Duration) (job memory.Job, held bool, err error) {
	held, err = p.hold(ctx, l.owner, how, func(t *tx) error {
		job = memory.Job{}
		now, err := t.time()
		if err != nil {
			return err
		}
		var id string
		err = t.row(`SELECT id FROM jobs WHERE owner = ?1 AND kind = ?2 AND state = 'queued' AND run_at <= ?3
			AND NOT EXISTS (SELECT 1 FROM jobs WHERE owner = ?1 AND kind = ?2 AND state = 'running')
			ORDER BY run_at, created_at, id LIMIT 1`, []any{l.owner, l.kind, micros(now)}, &id)
		if noRows(err) {
			return nil
		}
		if err == nil {
			job, err = t.start(now, l.owner, id, lease)
		}
		return err
	})
	return job, held, err
}

// takeBack takes back every lease that ran out, each in its owner's transaction.
func (p *server) takeBack(ctx context.Context) error {
	now, clock := p.argument()
	var owners []memory.Owner
	err := p.reads.again(ctx, func() error {
		rows, err := p.reads.ask(ctx, `SELECT DISTINCT owner FROM jobs WHERE state = 'running' AND lease_until <= `+clock, now...)
		owners, err = collect(rows, err, func(row scanner) (o memory.Owner, err error) { return o, row.Scan(&o) })
		return wrap("look for leases that ran out", err)
	})
	if err != nil {
		return err
	}
	for _, o := range owners {
		err := p.write(ctx, o, func(t *tx) error {
			now, err := t.time()
			if err != nil {
				return err
			}
			err = t.exec(takeBackOf+` AND owner = ?`, memory.MaxAttempts, micros(now), o)
			return wrap("take back leases", err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// argument is the store's clock within a query, as its first argument or, without one,
// as what the server reads its own by.
func (p *server) argument() (args []any, clock string) {
	if p.now == nil {
		return nil, serverTime
	}
	return []any{micros(memory.Time(p.now()))}, `?1`
}

// lines returns lines of the kinds whose first job is due and which have none that
// runs, those first whose job has been due the longest. It looks at the longest due
// jobs and, should their lines all be at work, at the first of each line: one owner may
// have queued very many.
func (p *server) lines(ctx context.Context, c claiming) ([]line, error) {
	args, clock := p.argument()
	kinds := make(listed, len(c.kinds))
	for i, k := range c.kinds {
		kinds[i] = string(k)
	}
	args = append(args, kinds)
	wanted := ` = ANY (?` + fmt.Sprint(len(args)) + `::text[])`
	var free []line
	ask := func(query string) (seen int, err error) {
		err = p.reads.again(ctx, func() error {
			free = nil
			known := map[line]bool{}
			rows, err := p.reads.ask(ctx, query, args...)
			all, err := collect(rows, err, func(row scanner) (l line, err error) {
				var waits bool
				err = row.Scan(&l.owner, &l.kind, &waits)
				if !waits && !known[l] {
					known[l] = true
					free = append(free, l)
				}
				return l, err
			})
			seen = len(all)
			return err
		})
		return seen, err
	}
	seen, err := ask(`SELECT q.owner, q.kind, EXISTS (SELECT 1 FROM jobs r WHERE r.owner = q.owner AND r.kind = q.kind AND r.state = 'running')
		FROM jobs q WHERE q.state = 'queued' AND q.run_at <= ` + clock + ` AND q.kind` + wanted + `
		ORDER BY q.run_at, q.created_at, q.owner, q.id` + limitOf(lookahead))
	if err != nil || len(free) > 0 || seen < lookahead {
		return free, err
	}
	_, err = ask(`WITH RECURSIVE waiting (owner, kind) AS (
			(SELECT owner, kind FROM jobs WHERE state = 'queued' ORDER BY owner, kind LIMIT 1)
			UNION ALL SELECT n.owner, n.kind FROM waiting w JOIN LATERAL (SELECT j.owner, j.kind FROM jobs j
				WHERE j.state = 'queued' AND (j.owner, j.kind) > (w.owner, w.kind) ORDER BY j.owner, j.kind LIMIT 1) n ON true)
		SELECT w.owner, w.kind, false FROM waiting w JOIN LATERAL (SELECT * FROM jobs j WHERE j.owner = w.owner AND j.kind = w.kind
			AND j.state = 'queued' AND j.run_at <= ` + clock + ` ORDER BY j.run_at, j.created_at, j.id LIMIT 1) q ON true
		WHERE w.kind` + wanted + ` AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.owner = w.owner AND r.kind = w.kind AND r.state = 'running')
		ORDER BY q.run_at, q.created_at, q.owner, q.id` + limitOf(lookahead))
	return free, err
}
