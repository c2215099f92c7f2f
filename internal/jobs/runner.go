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
// it and a [*PutOff] postpones it. The context ends when the lease is lost or the runner stops.
type Handler func(ctx context.Context, job memory.Job) (Completion, error)

// Completion is a handler's result after success: it says who marks the job as done.
type Completion string

// The possible completions.
const (
	Applied Completion = "applied" // the handler applied a run with job.Lease, which completed the job
	Nothing Completion = "nothing" // the handler applied no run, so the runner completes the job
)

// Options configures a [Runner]. The zero value selects the defaults.
type Options struct {
	Workers int           // maximum number of concurrent jobs; 0 means DefaultWorkers
	Lease   time.Duration // duration of a lease; 0 means DefaultLease
	Poll    time.Duration // interval between checks of the queue; 0 means DefaultPoll
	Grace   time.Duration // time for running handlers to end after a stop; 0 means DefaultGrace

	Now     func() time.Time // the store's clock, for the times of retries; nil uses time.Now
	Log     *slog.Logger     // nil disables the log
	Metrics *obs.Metrics     // nil disables metrics
}

// The defaults.
const (
	// DefaultWorkers is small, since jobs mostly wait for a model, and local models answer one request
	// at a time.
	DefaultWorkers = 4

	// DefaultLease is the time after which the job of a killed process is due again. The runner extends the
	// lease every third of this time, so slow jobs can use the same lease.
	DefaultLease = time.Minute

	// DefaultPoll is the interval between checks of the queue for due jobs. A new job need not wait for the
	// next check: see [Runner.Wake].
	DefaultPoll = time.Second

	// DefaultGrace is less than the ten seconds after which container engines kill a process.
	DefaultGrace = 8 * time.Second

	// finishTimeout limits the time for recording a job's outcome, also during shutdown.
	finishTimeout = 5 * time.Second
)

// ErrStopped is the error of [Runner.Drain] after Run has returned.
var ErrStopped = errors.New("the job runner has stopped")

// Runner runs the jobs of a queue. Create one with [New]; Run may be called once.
type Runner struct {
	queue    memory.Queue
	handlers map[memory.JobKind]Handler
	kinds    []memory.JobKind
	opts     Options

	wake  chan struct{} // contains a value if the queue must be checked now
	slots chan struct{} // contains one value for each running job

	mu           sync.Mutex   // guards the fields below
	activeJobs   int          // number of claimed jobs that have not ended
	drainWaiters []chan error // each receives the result of a call of Drain
	stopped      bool         // Run has returned
}

// New returns a runner for the jobs in queue that have a handler, by their kind.
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
		opts:     o,
		wake:     make(chan struct{}, 1),
		slots:    make(chan struct{}, o.Workers),
	}
}

// Run runs jobs until ctx ends. After that it claims no more jobs, waits for running handlers during the
// grace period, cancels the handlers that have not ended, and requeues their jobs. Run logs errors of the
// queue, and always returns nil.
func (r *Runner) Run(ctx context.Context) error {
	jobCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var workers sync.WaitGroup
	r.dispatch(ctx, jobCtx, &workers)
	grace := time.AfterFunc(r.opts.Grace, func() { cancel(context.Cause(ctx)) })
	defer grace.Stop()
	workers.Wait()
	r.markStopped()
	return nil
}

// dispatch starts due jobs until ctx ends. A job whose lease expired earlier may have crashed the process.
// While dispatch runs it again, it starts no other job, so that a crash does not count against other jobs.
func (r *Runner) dispatch(ctx, jobCtx context.Context, workers *sync.WaitGroup) {
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
				r.runJob(jobCtx, job)
				<-r.slots
				r.endJob()
				close(done)
			})
			if job.AbandonedAttempts() > 0 {
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

// waitUntilAlone waits until no other job runs, or ctx ends. No other job starts until release is called.
func (r *Runner) waitUntilAlone(ctx context.Context) (release func()) {
	heldSlots := 0
	for heldSlots < cap(r.slots)-1 && ctx.Err() == nil {
		select {
		case r.slots <- struct{}{}:
			heldSlots++
		case <-ctx.Done():
		}
	}
	return func() {
		for range heldSlots {
			<-r.slots
		}
	}
}

// Wake makes the runner check the queue at once. Call it after queueing a job. It never blocks.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a signal is already pending
	}
}

// Drain waits until no job is due or running, or ctx ends. It ignores jobs that are put off or wait for
// a retry. After Run has returned, it returns [ErrStopped].
func (r *Runner) Drain(ctx context.Context) error {
	waiter := make(chan error, 1)
	r.mu.Lock()
	if r.stopped {
		r.mu.Unlock()
		return ErrStopped
	}
	r.drainWaiters = append(r.drainWaiters, waiter)
	r.mu.Unlock()
	r.Wake()
	select {
	case err := <-waiter:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// claim claims the next due job, if there is one. If no job is due and none runs, it ends the calls of
// Drain that began before the claim. They wait for running jobs, which may block jobs of the same owner.
func (r *Runner) claim(ctx context.Context) (memory.Job, bool) {
	r.mu.Lock()
	waiterCount, isIdle := len(r.drainWaiters), r.activeJobs == 0
	r.mu.Unlock()
	job, err := r.queue.Claim(ctx, r.kinds, r.opts.Lease)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.activeJobs++
		return job, true
	case errors.Is(err, memory.NotFound):
		if isIdle {
			r.wakeWaiters(waiterCount, nil)
		}
	case ctx.Err() == nil:
		r.opts.Log.Error("claim a job", "error", err)
	}
	return memory.Job{}, false
}

// sleep waits for a signal on wake or for the next poll. It returns false if ctx ends.
func (r *Runner) sleep(ctx context.Context) bool {
	poll := time.NewTimer(r.opts.Poll)
	defer poll.Stop()
	select {
	case <-r.wake:
	case <-poll.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// endJob records the end of a job and wakes the runner, since the job may have blocked another job.
func (r *Runner) endJob() {
	r.mu.Lock()
	r.activeJobs--
	r.mu.Unlock()
	r.Wake()
}

func (r *Runner) markStopped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.wakeWaiters(len(r.drainWaiters), ErrStopped)
}

// wakeWaiters makes the n oldest waiting calls of Drain return err. The caller has locked mu.
func (r *Runner) wakeWaiters(n int, err error) {
	for _, w := range r.drainWaiters[:n] {
		w <- err
	}
	r.drainWaiters = r.drainWaiters[n:]
}
