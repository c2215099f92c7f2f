package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// group is who waits to write for one owner on a server. Whoever comes while a transaction
// of the owner's is under way is in the next one, with all others who came: so that they
// share the ways to the server and its waiting for the disk. Each has its own outcome. What
// fails after it wrote something, or panics, fails the transaction; then each is done in its
// own.
type group struct {
	*server
	owner memory.Owner

	waiting []*call            // guarded by server.joining; who is in it may leave
	stop    context.CancelFunc // guarded by server.joining: gives up taking the owner's row

	taken []*call // by the transaction under way
	mute  bool    // nothing is asked ahead, since what was asked failed
	alone int     // of those who wait, the first, who failed together
}

// groups are those that have somebody.
type groups struct {
	joining sync.Mutex
	of      map[memory.Owner]*group // guarded by joining
	running sync.WaitGroup
}

// together runs do for the owner, in one transaction with whoever else writes for him at
// the time. A caller whose context ends leaves; once its turn has come it waits for the
// outcome.
func (p *server) together(ctx context.Context, owner memory.Owner, asks []question, do func(*tx) error) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.mu.RUnlock()
	c := &call{ctx: ctx, do: do, until: time.Now().Add(retry.WritePatience), asks: asks, done: make(chan struct{})}
	g := p.join(owner, c)
	select {
	case <-c.done:
	case <-ctx.Done():
		if g.leave(c) {
			return ctx.Err()
		}
		<-c.done
	}
	return p.answer(ctx, explainServer(c.err))
}

// join makes the call one of its owner's group, which runs from then on if it did not.
func (p *server) join(owner memory.Owner, c *call) *group {
	p.joining.Lock()
	defer p.joining.Unlock()
	g := p.of[owner]
	if g == nil {
		if p.of == nil {
			p.of = map[memory.Owner]*group{}
		}
		g = &group{server: p, owner: owner}
		p.of[owner] = g
		p.running.Go(g.run)
	}
	g.waiting = append(g.waiting, c)
	return g
}

// leave reports whether the call was still waiting; then it is done by nobody.
func (g *group) leave(c *call) bool {
	g.joining.Lock()
	defer g.joining.Unlock()
	at := slices.Index(g.waiting, c)
	if at < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
	if len(g.waiting) == 0 && g.stop != nil {
		g.stop()
	}
	return true
}

// run makes transactions until nobody waits.
func (g *group) run() {
	wait := retry.FirstWait
	for g.goesOn() {
		err := g.transact()
		if again := g.settle(err, wait); again {
			time.Sleep(wait/2 + rand.N(wait)) // not all servers at once
			wait = min(2*wait, retry.LongestWait)
			continue
		}
		wait = retry.FirstWait
	}
}

// goesOn reports whether somebody waits. Without anybody the group is no more.
func (g *group) goesOn() bool {
	g.joining.Lock()
	defer g.joining.Unlock()
	if len(g.waiting) == 0 {
		delete(g.of, g.owner)
	}
	return len(g.waiting) > 0
}

// transact makes one transaction with who waits by the time that the owner's row is ours.
func (g *group) transact() error {
	g.taken = nil
	g.joining.Lock()
	ctx, stop := context.WithDeadline(context.Background(), g.patience())
	defer stop()
	g.stop = stop
	a := &attempt{server: g.server, owner: g.owner, how: patient, asks: g.asking()}
	g.joining.Unlock()
	err := a.run(ctx, g.all)
	if a.held && len(g.taken) == 0 && refused(err) { // one asks what cannot be asked
		g.mute = true
		return errBroken
	}
	if err != nil && a.committing && !refused(err) {
		err = g.outcome(ctx, a, err)
	}
	if err == nil && a.queued {
		g.notifier.ring()
	}
	return err
}

// patience returns when the first of those who wait will not any more. Who waited for a
// transaction in vain is given a moment for another.
func (g *group) patience() time.Time {
	first := time.Now().Add(retry.WritePatience)
	for _, c := range g.waiting {
		if c.until.Before(first) {
			first = c.until
		}
	}
	if least := time.Now().Add(leastPatience); first.Before(least) {
		return least
	}
	return first
}

// leastPatience is how long a transaction tries at the least to begin.
const leastPatience = time.Second

// asking returns those who wait whose questions are asked ahead.
func (g *group) asking() (all []*call) {
	questions := 0
	for _, c := range g.waiting {
		c.ahead = nil
		if questions += len(c.asks); !g.mute && questions <= maxAhead {
			all = append(all, c)
		}
	}
	g.mute = false
	return all
}

// errBroken ends a transaction in which a call failed that had written something.
var errBroken = errors.New("one of several writes failed")

// all runs those who wait, one after the other.
func (g *group) all(t *tx) error {
	if g.take(); len(g.taken) == 0 {
		return errBroken // all left
	}
	t.touched = map[string]bool{}
	for _, c := range g.taken {
		one := &tx{
			ctx: t.ctx, session: t.session, now: t.now, later: t.later, others: len(t.later), locked: t.locked,
			ahead: c.ahead, touched: t.touched, blurred: t.blurred,
		}
		switch c.err = c.do(one); {
		case c.err == nil:
			t.blurred = t.blurred || !one.precise
			t.later, t.locked, t.queues = one.later, one.locked, t.queues || one.queues
			t.queued, t.added = append(t.queued, one.queued...), append(t.added, one.added...)
			t.erases = t.erases || one.erases
			if one.witness.text != "" {
				t.witness = one.witness
			}
		case len(g.taken) == 1:
			return c.err
		case one.writes || !own(c.err):
			return errBroken
		case !one.told: // what the others have yet to say stays
			t.later = one.later[:one.others]
		default:
			t.later = nil
		}
	}
	return nil
}

// own reports whether an error is none of the server's or of the way to it.
func own(err error) bool {
	var e *memory.Error
	return errors.As(err, &e) && e.Code != memory.Unavailable
}

// take takes those who wait: from then on nobody of them leaves.
func (g *group) take() {
	g.joining.Lock()
	defer g.joining.Unlock()
	n := min(len(g.waiting), maxGroup)
	if g.alone > 0 {
		n = min(n, 1)
	}
	g.taken = slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
}

// settle tells what became of a transaction to those it was for, or has them wait again,
// which they do at the head. again says that it should be tried only a little later.
func (g *group) settle(err error, wait time.Duration) (again bool) {
	g.joining.Lock()
	defer g.joining.Unlock()
	g.stop = nil
	switch {
	case err == nil, errors.Is(err, errUnknown), len(g.taken) == 1 && !passes(err):
		g.alone = max(0, g.alone-len(g.taken))
		for _, c := range g.taken {
			if err != nil {
				c.err = err
			}
			close(c.done)
		}
	case len(g.taken) > 1 && !passes(err):
		g.alone = len(g.taken)
		g.waiting = append(g.taken, g.waiting...)
	case errors.Is(err, errBroken), errors.Is(err, context.Canceled): // all had left
	default:
		again = passes(err) || len(g.taken) == 0 && tookLong(err) // nobody's turn had come
		g.waiting = slices.DeleteFunc(append(g.taken, g.waiting...), func(c *call) bool {
			ends := !again || time.Now().Add(wait).After(c.until) || c.ctx.Err() != nil
			if ends {
				c.err = err
				close(c.done)
			}
			return ends
		})
	}
	return again
}

// tookLong reports whether what failed was not done in time, by the server's count or ours.
func tookLong(err error) bool {
	var e *pgconn.PgError
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && (e.Code == "57014" || e.Code == "55P03")
}
