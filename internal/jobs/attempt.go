package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// runJob runs one attempt at a claimed job, and records its outcome.
func (r *Runner) work(ctx context.Context, job memory.Job) {
	held, cancel := context.WithCancelCause(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { r.keep(held, cancel, job) })
	end, err := r.handle(held, job)
	lost := context.Cause(held)
	cancel(nil)
	keeper.Wait()

	var off *PutOff
	log := r.o.Log.With("job", job.ID, "kind", job.Kind, "owner", job.Owner)
	switch {
	case errors.Is(err, memory.LeaseLost), err != nil && errors.Is(lost, memory.LeaseLost):
		log.Warn("another worker took over the job")
		r.o.Metrics.JobEnded(job.Kind, "lost")
	case errors.As(err, &off):
		r.finish(ctx, job, memory.Outcome{Later: true, RetryAt: off.Until, Cause: off.Why}, "later")
	case err != nil && ctx.Err() != nil: // the runner stops, so another process may claim the job at once
		r.finish(ctx, job, memory.Outcome{Later: true, RetryAt: r.o.Now(), Cause: job.Error}, "later")
	case err != nil:
		r.fail(ctx, job, err)
	case end == Applied:
		r.o.Metrics.JobEnded(job.Kind, "done")
	default:
		r.finish(ctx, job, memory.Outcome{Done: true}, "done")
	}
}

// recordFailure records a failed attempt.
func (r *Runner) fail(ctx context.Context, job memory.Job, err error) {
	outcome := memory.Outcome{Cause: err.Error(), Park: errors.Is(err, memory.Invalid)}
	// job.Attempts does not include this attempt, which the store adds in Finish.
	end := "retry"
	if outcome.Park || job.Attempts+1 >= memory.MaxAttempts {
		end = "parked"
	}
	wait := Delay(job.Attempts, rand.Float64())
	outcome.RetryAt = r.o.Now().Add(wait)
	r.o.Log.Warn("job failed", "job", job.ID, "kind", job.Kind, "owner", job.Owner, "attempts", job.Attempts+1, "end", end, "retry_in", wait, "error", err)
	r.finish(ctx, job, outcome, end)
}

func (r *Runner) finish(ctx context.Context, job memory.Job, o memory.Outcome, end string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	err := r.queue.Finish(ctx, job.Lease, o)
	if errors.Is(err, memory.LeaseLost) {
		end, err = "lost", nil
	}
	if err != nil {
		// The job is due again when its lease expires.
		r.o.Log.Error("finish a job", "job", job.ID, "kind", job.Kind, "owner", job.Owner, "error", err)
	}
	r.o.Metrics.JobEnded(job.Kind, end)
}

// callHandler calls the job's handler and returns a panic as an error.
func (r *Runner) handle(ctx context.Context, job memory.Job) (end End, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.o.Log.Error("panic in a job", "job", job.ID, "kind", job.Kind, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	if job.Abandoned() > 0 {
		defer r.alone(ctx)()
	}
	return r.handlers[job.Kind](memory.ForWrite(ctx), job) // handlers read data before they change it
}

// renewLease extends the job's lease until ctx ends. If another worker has claimed the job, it cancels
// the handler with [memory.LeaseLost]. It retries after other errors; if the lease expires meanwhile,
// the store rejects the handler's commit.
func (r *Runner) keep(ctx context.Context, cancel context.CancelCauseFunc, job memory.Job) {
	tick := time.NewTicker(r.o.Lease / 3)
	defer tick.Stop()
	lease := job.Lease
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		next, err := r.queue.Extend(ctx, lease, r.o.Lease)
		switch {
		case err == nil:
			lease = next
		case errors.Is(err, memory.LeaseLost):
			cancel(err)
			return
		case ctx.Err() == nil:
			r.o.Log.Error("extend a lease", "job", job.ID, "kind", job.Kind, "error", err)
		}
	}
}

const (
	firstDelay = time.Second
	maxDelay   = 10 * time.Minute

	// delayFactor makes [memory.MaxAttempts] attempts take more than ten minutes: after ten minutes,
	// learning uses rules instead of a model, which must happen before the job is parked.
	delayFactor = 3

	// jitter is the maximum random share by which a delay is shortened, to spread retries.
	jitter = 0.2
)

// Delay returns the wait after a failed attempt, from a second to ten minutes. failures is the number
// of earlier failures, and random is a random number from 0 to 1.
func Delay(failed int, chance float64) time.Duration {
	d := firstDelay
	for range failed {
		if d >= maxDelay {
			break
		}
		d *= delayFactor
	}
	d = min(d, maxDelay)
	return d - time.Duration(jitter*chance*float64(d))
}
