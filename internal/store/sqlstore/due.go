package sqlstore

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// due knows where in the queue there may be something to claim, so that who looks in
// vain asks no database, and who does not looks at few jobs: workers look after each
// job, and whenever something was queued. Nobody else writes to the file while it is
// locked, and the writer says what each commit did to the queue before its callers
// are told.
//
// While at is known, a queued job is due at that time or later, or it is one of free,
// or it waits for another that runs; the end of one that is not known to run makes at
// unknown.
type due struct {
	mu sync.Mutex // guards what follows

	at      int64             // in micros; 0 if it is not known
	kinds   string            // of jobs, in JSON, that the above is true for; "": for any
	free    map[line]struct{} // lines whose next job may be due earlier
	running map[line]string   // ids of jobs that run, by their line, as far as it is known
	commits uint64            // that were told of
}

// line is where an owner's jobs of a kind wait: one at a time runs.
type line struct {
	owner memory.Owner
	kind  memory.JobKind
}

// maxFree is how many lines are looked at one by one, rather than all jobs at once.
const maxFree = 64

// look returns the lines that may have a job which is due; known is false if any may.
// commits is what [due.learn] wants to hear.
func (d *due) look(kinds []memory.JobKind, inJSON string, now int64) (lines []line, known bool, commits uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now >= d.at || d.kinds != "" && d.kinds != inJSON {
		return nil, false, d.commits
	}
	for l := range d.free {
		if slices.Contains(kinds, l.kind) {
			lines = append(lines, l)
		}
	}
	return lines, true, d.commits
}

// learn keeps when the database has something due at the soonest, unless there was a
// commit since the caller asked.
func (d *due) learn(soonest int64, commits uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if commits == d.commits {
		d.nothing("", soonest)
	}
}

// committed tells what a transaction did to the queue, in order. What a failed
// commit left behind, only the database knows.
func (d *due) committed(steps []func(*due), failed error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commits++
	if failed != nil {
		d.forget()
		return
	}
	for _, step := range steps {
		step(d)
	}
}

// What a step says; all of it under the lock.

// queued says that a line has another job.
func (d *due) queued(l line) {
	if _, waits := d.running[l]; !waits && d.at != 0 {
		d.release(l)
	}
}

func (d *due) release(l line) {
	if len(d.free) == maxFree {
		d.at = 0
		clear(d.free)
		return
	}
	if d.free == nil {
		d.free = map[line]struct{}{}
	}
	d.free[l] = struct{}{}
}

// started says that a line's job runs, and when its lease runs out.
func (d *due) started(l line, job string, until int64) {
	if d.running == nil {
		d.running = map[line]string{}
	}
	d.running[l] = job
	d.next(l, until)
}

// ended says that a job runs no more: what waited for it may be due.
func (d *due) ended(owner memory.Owner, job string) {
	for l, id := range d.running {
		if l.owner == owner && id == job {
			delete(d.running, l)
			d.queued(l)
			return
		}
	}
	d.at = 0
}

// next says that a line, whose jobs were looked at, makes nothing due before a time.
func (d *due) next(l line, at int64) {
	delete(d.free, l)
	d.at = min(d.at, at)
}

// nothing says that a claim for these kinds found nothing in all the queue, and when
// one that is not due yet will be.
func (d *due) nothing(kinds string, next int64) {
	d.at, d.kinds = next, kinds
	clear(d.free)
}

// forget says that anything may be due.
func (d *due) forget() {
	d.at = 0
	clear(d.free)
	clear(d.running)
}

// soonest asks for the earliest time at which a job is due, and at which a lease
// runs out; nextOf is the same of those after a time.
const (
	soonest = `SELECT (SELECT run_at FROM jobs INDEXED BY jobs_due WHERE state = 'queued' ORDER BY run_at LIMIT 1),
		(SELECT min(lease_until) FROM jobs WHERE state = 'running')`
	nextOf = `SELECT (SELECT run_at FROM jobs INDEXED BY jobs_due WHERE state = 'queued' AND run_at > ?1 ORDER BY run_at LIMIT 1),
		(SELECT min(lease_until) FROM jobs WHERE state = 'running')`
)

// scanSoonest reads the earlier of two times, of which each may be missing; of
// none, the end of time.
func scanSoonest(row scanner) (int64, error) {
	var queued, leased *int64
	err := row.Scan(&queued, &leased)
	never := int64(math.MaxInt64)
	return min(*cmp.Or(queued, &never), *cmp.Or(leased, &never)), err
}
