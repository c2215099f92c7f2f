package sqlstore

import (
	"cmp"
	"math"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// due is when there is something to claim at the soonest, so that who looks into
// the queue in vain asks no database: workers look after each job, and whenever
// something was queued. Nobody else writes to the file while it is locked, and the
// writer says what each commit did to the queue before its callers are told.
type due struct {
	mu sync.Mutex // guards what follows

	// at is the time, in micros, before which nothing is due that could be claimed;
	// 0 if that is not known.
	at    int64
	kinds string // of job, in JSON, that at was found for; "": for any

	running map[worker]string // ids of jobs that run, those that are known to
	commits uint64            // that were told of
}

// worker is whose job of which kind runs: others of theirs wait for it.
type worker struct {
	owner memory.Owner
	kind  memory.JobKind
}

// find reports whether there is nothing to claim now. Otherwise commits is what
// [due.learn] wants to hear.
func (d *due) find(kinds string, now int64) (commits uint64, nothing bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.commits, now < d.at && (d.kinds == "" || d.kinds == kinds)
}

// learn keeps when the database has something due at the soonest, whoever may claim
// it, unless there was a commit since the caller asked.
func (d *due) learn(soonest int64, commits uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if commits == d.commits {
		d.at, d.kinds = soonest, ""
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

// queued says that a job was queued. One that waits for another of its owner's
// makes nothing due before that has ended.
func (d *due) queued(w worker, runAt int64) {
	if _, waits := d.running[w]; !waits {
		d.at = min(d.at, runAt)
	}
}

func (d *due) started(w worker, job string) {
	if d.running == nil {
		d.running = map[worker]string{}
	}
	d.running[w] = job
}

// ended says that a job runs no more: what waited for it may be due.
func (d *due) ended(owner memory.Owner, job string) {
	d.at = 0
	for w, id := range d.running {
		if w.owner == owner && id == job {
			delete(d.running, w)
		}
	}
}

// nothing says that a claim for these kinds found nothing, and when one that is not
// due yet will be.
func (d *due) nothing(kinds string, next int64) { d.at, d.kinds = next, kinds }

// forget says that anything may be due.
func (d *due) forget() { d.at, d.running = 0, nil }

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
