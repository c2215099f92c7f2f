package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/memory"
)

// The table due has a hint for each line that may have something to do: when its first
// job is due or, while one runs, when its lease runs out. So whoever looks for work asks
// one small table, and then one owner. A hint may be early, for nothing is to be found
// then and who looked corrects it; whatever makes it earlier is said after each commit,
// and what was lost is found by the next sweep.

// lineHint is what due says of a line.
type lineHint struct {
	line
	at, created int64
	leased      bool
	n           int64
}

const (
	// loosely is true, and has the statement's transaction not wait for the server's disk:
	// what it writes may be lost.
	loosely = `set_config('synchronous_commit', 'off', true) = 'off'`
	// briefly is true, and has the statement's transaction fail rather than wait for others:
	// who committed waits for its hints. It is shorter than servers wait before they look
	// for a deadlock.
	briefly = `set_config('lock_timeout', '20ms', true) <> ''`
	earlier = ` ON CONFLICT (owner, kind) DO UPDATE SET at = least(due.at, excluded.at), n = due.n + 1,
		created = CASE WHEN (excluded.at, excluded.created) < (due.at, due.created) THEN excluded.created ELSE due.created END,
		leased = CASE WHEN (excluded.at, excluded.created) < (due.at, due.created) THEN excluded.leased ELSE due.leased END`
	// hintOf writes that a line has another job.
	hintOf = `INSERT INTO due (owner, kind, at, created, leased, n)
		SELECT ?1, ?2, coalesce(r.until, ?3), CASE WHEN r.until IS NULL THEN ?4::bigint ELSE 0 END, r.until IS NOT NULL, 1
		FROM (SELECT min(lease_until) AS until FROM jobs WHERE owner = ?1 AND kind = ?2 AND state = 'running') r
		WHERE ` + loosely + ` AND ` + briefly + earlier
	// hintsOf writes what an owner's lines have to do, looking at the first job of each:
	// there may be very many.
	hintsOf = `WITH RECURSIVE waiting (kind) AS (
			(SELECT kind FROM jobs WHERE owner = ?1 AND state = 'queued' ORDER BY kind LIMIT 1)
			UNION ALL SELECT n.kind FROM waiting w JOIN LATERAL (SELECT j.kind FROM jobs j WHERE j.owner = ?1 AND j.state = 'queued' AND j.kind > w.kind
				ORDER BY j.kind LIMIT 1) n ON true),
		kinds AS (SELECT kind FROM waiting UNION SELECT kind FROM jobs WHERE owner = ?1 AND state = 'running')
		INSERT INTO due (owner, kind, at, created, leased, n)
		SELECT ?1, k.kind, coalesce(r.until, q.run_at), CASE WHEN r.until IS NULL THEN q.created_at ELSE 0 END, r.until IS NOT NULL, 1 FROM kinds k
		LEFT JOIN LATERAL (SELECT run_at, created_at FROM jobs WHERE owner = ?1 AND kind = k.kind AND state = 'queued' ORDER BY run_at, created_at LIMIT 1) q ON true
		LEFT JOIN LATERAL (SELECT min(lease_until) AS until FROM jobs WHERE owner = ?1 AND kind = k.kind AND state = 'running') r ON true
		WHERE coalesce(r.until, q.run_at) IS NOT NULL AND ` + loosely + ` AND ` + briefly + earlier
)

// hints are what a server is told once a transaction is committed, in its own words. Where
// jobs were queued and nothing else was done, only their lines are looked at.
func (a *attempt) hints(t *tx) (all []statement) {
	say := func(query string, args ...any) {
		all = append(all, statement{a.into.text(query), a.into.values(args)})
	}
	switch {
	case len(t.queued) == 0, a.owner == "":
	case len(t.added) < len(t.queued):
		say(hintsOf, a.owner)
	default:
		slices.SortFunc(t.added, func(x, y lineHint) int { // and so in the order of all who give some
			return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.at, y.at), cmp.Compare(x.created, y.created))
		})
		for _, h := range slices.CompactFunc(t.added, func(x, y lineHint) bool { return x.kind == y.kind }) {
			say(hintOf, h.owner, h.kind, h.at, h.created)
		}
	}
	return all
}

// heard notes what became of hints. They may fail: then who looks for work here next gives
// them, or the next sweep.
func (a *attempt) heard(hints int, missed error) {
	if hints == 0 {
		return
	}
	busy := isLocked(missed)
	a.hinted.Store(missed == nil || busy)
	switch {
	case busy:
		a.missed.Store(a.owner, true)
	case missed != nil:
		a.sweepNext()
	}
}

// isLocked reports whether others held what a statement would not wait for.
func isLocked(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "55P03"
}

// giveMissed gives the hints that others were in the way of.
func (p *server) giveMissed(ctx context.Context) {
	p.missed.Range(func(owner, _ any) bool {
		p.missed.Delete(owner)
		p.remind(ctx, owner.(memory.Owner))
		_, again := p.missed.Load(owner)
		return !again // the rest is for another time
	})
}

// remind gives the hints again that a transaction of the owner's may not have given.
func (p *server) remind(ctx context.Context, owner memory.Owner) {
	if owner == "" {
		p.sweepNext()
		return
	}
	if _, err := p.db.ExecContext(ctx, p.into.text(hintsOf), p.into.values([]any{owner})...); isLocked(err) {
		p.missed.Store(owner, true)
	} else if err != nil {
		p.sweepNext()
	}
}

// hints returns what is said to be due: lines of the kinds, and any whose lease may have
// run out, those first that have been due the longest.
func (p *server) hints(ctx context.Context, c claiming) (found []lineHint, err error) {
	args, clock := p.argument()
	kinds := make(listed, len(c.kinds))
	for i, k := range c.kinds {
		kinds[i] = string(k)
	}
	args = append(args, kinds)
	err = p.reads.again(ctx, func() error {
		rows, err := p.reads.ask(ctx, `SELECT owner, kind, at, created, leased, n FROM due WHERE at <= `+clock+`
			AND (leased OR kind = ANY (?`+fmt.Sprint(len(args))+`::text[])) ORDER BY at, created, owner, kind`+limitOf(lookahead), args...)
		found, err = collect(rows, err, func(row scanner) (h lineHint, err error) {
			return h, row.Scan(&h.owner, &h.kind, &h.at, &h.created, &h.leased, &h.n)
		})
		return err
	})
	return found, err
}

// correction writes what a line turned out to have to do, unless somebody gave a hint since
// it was read; at is 0 for nothing.
func (p *server) correction(h lineHint, at, created int64, leased bool) statement {
	query, args := `DELETE FROM due WHERE owner = ?1 AND kind = ?2 AND n = ?3`, []any{h.owner, h.kind, h.n}
	if at != 0 {
		query = `UPDATE due SET at = ?4, created = ?5, leased = ?6, n = n + 1 WHERE owner = ?1 AND kind = ?2 AND n = ?3`
		args = append(args, at, created, leased)
	}
	return statement{p.into.text(query + ` AND ` + loosely), p.into.values(args)}
}

// argument is the store's clock within a query, as its first argument or, without one,
// as what the server reads its own by.
func (p *server) argument() (args []any, clock string) {
	if p.now == nil {
		return nil, serverTime
	}
	return []any{micros(memory.Time(p.now()))}, `?1`
}
