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
func (r *Runner) runJob(ctx context.Context, job memory.Job) {
	jobCtx, cancel := context.WithCancelCause(ctx)
	var renewer sync.WaitGroup
	renewer.Go(func() { r.renewLease(jobCtx, cancel, job) })
	completion, err := r.callHandler(jobCtx, job)
	cancelCause := context.Cause(jobCtx)
	cancel(nil)
	renewer.Wait()

	var putOff *PutOff
	log := r.opts.Log.With("job", job.ID, "kind", job.Kind, "owner", job.Owner)
	switch {
	case errors.Is(err, memory.LeaseLost), err != nil && errors.Is(cancelCause, memory.LeaseLost):
		log.Warn("another worker took over the job")
		r.opts.Metrics.CountJob(job.Kind, "lost")
	case errors.As(err, &putOff):
		r.recordOutcome(ctx, job, memory.Outcome{Deferred: true, RetryAt: putOff.Until, Cause: putOff.Reason}, "later")
	case err != nil && ctx.Err() != nil: // the runner stops, so another process may claim the job at once
		r.recordOutcome(ctx, job, memory.Outcome{Deferred: true, RetryAt: r.opts.Now(), Cause: job.Error}, "later")
	case err != nil:
		r.recordFailure(ctx, job, err)
	case completion == Applied:
		r.opts.Metrics.CountJob(job.Kind, "done")
	default:
		r.recordOutcome(ctx, job, memory.Outcome{Done: true}, "done")
	}
}

// recordFailure records a failed attempt, and the time of the retry or that the job is parked.
func (r *Runner) recordFailure(ctx context.Context, job memory.Job, err error) {
	outcome := memory.Outcome{Cause: err.Error(), Park: errors.Is(err, memory.Invalid)}
	// job.Attempts does not count this attempt: the store adds it in Finish.
	resultLabel := "retry"
	if outcome.Park || job.Attempts+1 >= memory.MaxAttempts {
		resultLabel = "parked"
	}
	wait := RetryDelay(job.Attempts, rand.Float64())
	outcome.RetryAt = r.opts.Now().Add(wait)
	r.opts.Log.Warn("job failed", "job", job.ID, "kind", job.Kind, "owner", job.Owner, "attempts", job.Attempts+1, "end", resultLabel, "retry_in", wait, "error", err)
	r.recordOutcome(ctx, job, outcome, resultLabel)
}

func (r *Runner) recordOutcome(ctx context.Context, job memory.Job, o memory.Outcome, resultLabel string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	err := r.queue.Finish(ctx, job.Lease, o)
	if errors.Is(err, memory.LeaseLost) {
		resultLabel, err = "lost", nil
	}
	if err != nil {
		// The job is due again when its lease expires.
		r.opts.Log.Error("finish a job", "job", job.ID, "kind", job.Kind, "owner", job.Owner, "error", err)
	}
	r.opts.Metrics.CountJob(job.Kind, resultLabel)
}

// callHandler calls the job's handler, and returns an error if the handler panics.
func (r *Runner) callHandler(ctx context.Context, job memory.Job) (completion Completion, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.opts.Log.Error("panic in a job", "job", job.ID, "kind", job.Kind, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	if job.AbandonedAttempts() > 0 {
		defer r.waitUntilAlone(ctx)()
	}
	return r.handlers[job.Kind](memory.ForWrite(ctx), job) // ForWrite makes the handler's reads retry as long as writes
}

// renewLease extends the job's lease until ctx ends. If another worker has claimed the job, it cancels the
// handler with [memory.LeaseLost]. It retries after other errors, at intervals of a third of the lease; if
// the lease expires before a retry succeeds, the store rejects the handler's commit.
func (r *Runner) renewLease(ctx context.Context, cancel context.CancelCauseFunc, job memory.Job) {
	tick := time.NewTicker(r.opts.Lease / 3)
	defer tick.Stop()
	lease := job.Lease
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		next, err := r.queue.Extend(ctx, lease, r.opts.Lease)
		switch {
		case err == nil:
			lease = next
		case errors.Is(err, memory.LeaseLost):
			cancel(err)
			return
		case ctx.Err() == nil:
			r.opts.Log.Error("extend a lease", "job", job.ID, "kind", job.Kind, "error", err)
		}
	}
}

const (
	firstDelay = time.Second
	maxDelay   = 10 * time.Minute

	// delayFactor makes [memory.MaxAttempts] attempts take more than ten minutes. After ten minutes,
	// learning uses rules instead of a model, so it can succeed before its job is parked.
	delayFactor = 3

	// jitter is the maximum share of a delay by which it is randomly shortened, to spread retries.
	jitter = 0.2
)

// RetryDelay returns the wait after a failed attempt, from a second to ten minutes. failureCount is the
// number of the job's earlier failures, and random is a random number from 0 to 1.
func RetryDelay(failureCount int, random float64) time.Duration {
	d := firstDelay
	for range failureCount {
		if d >= maxDelay {
			break
		}
		d *= delayFactor
	}
	d = min(d, maxDelay)
	return d - time.Duration(jitter*random*float64(d))
}
