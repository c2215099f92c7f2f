package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

// Handler performs one job. After an error the job is retried, except that [memory.Invalid] parks
// it and a [*PutOff] defers it. The context ends when the lease is lost or the runner stops.
type Handler func(ctx context.Context, job memory.Job) (End, error)

// End is how a handler completed its job.
type End string

// The possible ends.
const (
	Applied End = "applied" // the handler applied a run with job.Lease, which completed the job
	Nothing End = "nothing" // there was nothing to do; the runner completes the job
)

// Options configures a [Runner]. The zero value selects the defaults.
type Options struct {
	Workers int           // number of concurrent jobs; 0: DefaultWorkers
	Lease   time.Duration // 0: DefaultLease
	Poll    time.Duration // 0: DefaultPoll
	Grace   time.Duration // how long handlers may continue after the runner is stopped; 0: DefaultGrace

	Now     func() time.Time // the store's clock, for the times of retries; nil: time.Now
	Log     *slog.Logger     // nil: no log
	Metrics *obs.Metrics     // nil: no metrics
}

// The defaults.
const (
	// DefaultWorkers is small, since jobs wait for a model rather than for a processor, and small
	// models answer one request at a time.
	DefaultWorkers = 4

	// DefaultLease is how long a job stays with a killed process. Leases are extended three times
	// per lease, so that slow models do not need a longer one.
	DefaultLease = time.Minute

	// DefaultPoll is how often the queue is checked for jobs that become due. New jobs do not wait
	// for it: see [Runner.Wake].
	DefaultPoll = time.Second

	// DefaultGrace is less than the ten seconds after which container engines kill a process.
	DefaultGrace = 8 * time.Second

	// finishTime bounds the recording of a job's outcome during shutdown.
	finishTime = 5 * time.Second
)

// ErrStopped is the error of [Runner.Drain] after Run has returned.
var ErrStopped = errors.New("the job runner has stopped")

// Runner runs the jobs of a queue. Make one with [New]; Run may be called once.
type Runner struct {
	queue    memory.Queue
	handlers map[memory.JobKind]Handler
	kinds    []memory.JobKind
	o        Options

	wake  chan struct{} // holds one signal to check the queue
	slots chan struct{} // holds one value per running job

	mu      sync.Mutex // guards the following fields
	busy    int        // number of jobs claimed and not yet finished
	waiters []chan error
	stopped bool
}

// New returns a runner for the kinds of jobs that have a handler.
func New(queue memory.Queue, handlers map[memory.JobKind]Handler, o Options) *Runner {
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	o.Poll = cmp.Or(o.Poll, DefaultPoll)
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{
		queue:    queue,
		handlers: maps.Clone(handlers),
		kinds:    slices.Sorted(maps.Keys(handlers)),
		o:        o,
		wake:     make(chan struct{}, 1),
		slots:    make(chan struct{}, o.Workers),
	}
}

// Run runs jobs until ctx ends. Then it claims no more jobs, lets running handlers continue for the
// grace period, cancels those still running, and releases their jobs. Errors of the queue are
// logged and retried, so Run returns nil.
func (r *Runner) Run(ctx context.Context) error {
	handling, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var workers sync.WaitGroup
	r.dispatch(ctx, handling, &workers)
	grace := time.AfterFunc(r.o.Grace, func() { cancel(context.Cause(ctx)) })
	defer grace.Stop()
	workers.Wait()
	r.stop()
	return nil
}

// dispatch assigns due jobs to workers until ctx ends. While a job runs that may crash the process,
// it claims no other job, so that only that job counts as abandoned.
func (r *Runner) dispatch(ctx, handling context.Context, workers *sync.WaitGroup) {
	for {
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		job, ok := r.claim(ctx)
		if ok {
			done := make(chan struct{})
			workers.Go(func() {
				r.work(handling, job)
				<-r.slots
				r.release()
				close(done)
			})
			if job.Abandoned() > 0 {
				select {
				case <-done:
				case <-ctx.Done():
				}
			}
			continue
		}
		<-r.slots
		if !r.sleep(ctx) {
			return
		}
	}
}

// alone waits until no other job runs, or ctx ends. Call release to let other jobs run again.
func (r *Runner) alone(ctx context.Context) (release func()) {
	held := 0
	for held < cap(r.slots)-1 && ctx.Err() == nil {
		select {
		case r.slots <- struct{}{}:
			held++
		case <-ctx.Done():
		}
	}
	return func() {
		for range held {
			<-r.slots
		}
	}
}

// Wake makes the runner check the queue now. Call it after queueing a job; it never blocks.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a signal is already pending
	}
}

// Drain waits until no job is due or running, or ctx ends. It ignores jobs that are deferred or
// wait for a retry. It returns [ErrStopped] once Run has returned.
func (r *Runner) Drain(ctx context.Context) error {
	waiter := make(chan error, 1)
	r.mu.Lock()
	if r.stopped {
		r.mu.Unlock()
		return ErrStopped
	}
	r.waiters = append(r.waiters, waiter)
	r.mu.Unlock()
	r.Wake()
	select {
	case err := <-waiter:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// claim takes the next due job. If there is none and no job was running, it wakes the callers of
// Drain that called before the check. A running job may have held back another job of the same
// owner.
func (r *Runner) claim(ctx context.Context) (memory.Job, bool) {
	r.mu.Lock()
	asked, idle := len(r.waiters), r.busy == 0
	r.mu.Unlock()
	job, err := r.queue.Claim(ctx, r.kinds, r.o.Lease)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.busy++
		return job, true
	case errors.Is(err, memory.NotFound):
		if idle {
			r.answer(asked, nil)
		}
	case ctx.Err() == nil:
		r.o.Log.Error("claim a job", "error", err)
	}
	return memory.Job{}, false
}

// sleep waits for a signal or the next poll. It returns false when ctx ends.
func (r *Runner) sleep(ctx context.Context) bool {
	poll := time.NewTimer(r.o.Poll)
	defer poll.Stop()
	select {
	case <-r.wake:
	case <-poll.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// release ends a worker and wakes the runner, since the owner's next job may have waited.
func (r *Runner) release() {
	r.mu.Lock()
	r.busy--
	r.mu.Unlock()
	r.Wake()
}

func (r *Runner) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.answer(len(r.waiters), ErrStopped)
}

// answer wakes the first n callers of Drain. The caller holds mu.
func (r *Runner) answer(n int, err error) {
	for _, w := range r.waiters[:n] {
		w <- err
	}
	r.waiters = r.waiters[n:]
}
