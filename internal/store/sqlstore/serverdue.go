package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
)

// The table due has a hint for each line that may have something to do: when its first
// job is due or, while one runs, when its lease runs out. So whoever looks for work asks
// one small table, and then one owner. A hint may be early, for nothing is to be found
// then and who looked corrects it; whatever makes it earlier is said after each commit,
// and what was lost is found by the next sweep.

// sweepEvery is how long a job whose hint was lost may have to wait.
const sweepEvery = time.Minute

// lineHint is what due says of a line.
type lineHint struct {
	line
	at, created int64
	leased      bool
	n           int64
}

const (
	earlier = ` ON CONFLICT (owner, kind) DO UPDATE SET at = least(due.at, excluded.at), n = due.n + 1,
		created = CASE WHEN (excluded.at, excluded.created) < (due.at, due.created) THEN excluded.created ELSE due.created END,
		leased = CASE WHEN (excluded.at, excluded.created) < (due.at, due.created) THEN excluded.leased ELSE due.leased END`
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
		WHERE coalesce(r.until, q.run_at) IS NOT NULL` + earlier
	// sweep is the one statement about all owners: no request waits for it.
	sweep = `INSERT INTO due (owner, kind, at, created, leased, n)
		SELECT owner, kind, coalesce(min(lease_until) FILTER (WHERE state = 'running'), min(run_at)),
			CASE WHEN bool_or(state = 'running') THEN 0 ELSE (array_agg(created_at ORDER BY run_at, created_at))[1] END, bool_or(state = 'running'), 1
		FROM jobs WHERE state IN ('queued', 'running') GROUP BY owner, kind` + earlier + ` WHERE (excluded.at, excluded.created) < (due.at, due.created)`
)

// hint says after a commit what is to be done for its owner. It may fail: then the next
// sweep says so.
func (a *attempt) hint(ctx context.Context, s *session) {
	if a.owner == "" {
		a.sweepNext()
		return
	}
	if err := s.loosely(ctx, hintsOf, string(a.owner)); err != nil {
		s.drop()
		a.sweepNext()
	}
}

// loosely runs a statement in a transaction that does not wait for the server's disk: what
// it writes may be lost. It takes one way there and back.
func (s *session) loosely(ctx context.Context, query string, args ...any) error {
	return s.send(ctx, statement{text: "BEGIN"}, statement{text: "SET LOCAL synchronous_commit = off"},
		statement{s.into.text(query), s.into.values(args)}, statement{text: "COMMIT"})
}

// sweepNext has the next who looks for work sweep first.
func (p *server) sweepNext() { p.swept.Store(0) }

// sweepIfDue makes the hints that are missing, if nobody here did so for long. It goes by
// this machine's clock: how long is not told to anybody.
func (p *server) sweepIfDue(ctx context.Context) error {
	last, now := p.swept.Load(), int64(time.Since(processStart))+1
	if last != 0 && now-last < int64(sweepEvery) || !p.swept.CompareAndSwap(last, now) {
		return nil
	}
	if _, err := p.db.ExecContext(ctx, p.into.text(sweep)); err != nil {
		p.swept.CompareAndSwap(now, last)
		return fmt.Errorf("look for work that nobody was told of: %w", err)
	}
	return nil
}

// processStart is what sweeps count from, so that a clock that is set changes nothing.
var processStart = time.Now()

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

// correct writes what a line turned out to have to do, unless somebody gave a hint since
// it was read; at is 0 for nothing.
func (p *server) correct(ctx context.Context, h lineHint, at, created int64, leased bool) error {
	query, args := `DELETE FROM due WHERE owner = ?1 AND kind = ?2 AND n = ?3`, []any{h.owner, h.kind, h.n}
	if at != 0 {
		query = `UPDATE due SET at = ?4, created = ?5, leased = ?6, n = n + 1 WHERE owner = ?1 AND kind = ?2 AND n = ?3`
		args = append(args, at, created, leased)
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a connection to correct a hint: %w", err)
	}
	s := &session{conn: conn, into: p.into}
	defer s.release()
	if err := s.loosely(ctx, query, args...); err != nil {
		s.drop()
		return fmt.Errorf("correct a hint: %w", err)
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
