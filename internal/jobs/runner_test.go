package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ana, bob = memory.User("default", "ana"), memory.User("default", "bob")

func job(id string, owner memory.Owner) memory.Job {
	return memory.Job{ID: id, Owner: owner, Kind: memory.JobLearn}
}

// run starts a runner in a bubble of its own time, where Sleep takes none, and
// stops it when the test's body returns.
func run(t *testing.T, o Options, h Handler, body func(t *testing.T, q *queue, r *Runner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		r := New(q, map[memory.JobKind]Handler{memory.JobLearn: h}, o)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		body(t, q, r)
		stop()
		running.Wait()
	})
}

func drain(t *testing.T, r *Runner) {
	t.Helper()
	if err := r.Drain(t.Context()); err != nil {
		t.Fatalf("Drain: %v", err)
	}
}

func TestNothingToDoIsFinishedByTheRunner(t *testing.T) {
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) { return Nothing, nil }, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana))
		drain(t, r)
		if s := q.state("1").State; s != memory.JobDone || len(q.ended()) != 1 || !q.ended()[0].Done {
			t.Errorf("job is %s after %+v; want done by one Finish", s, q.ended())
		}
	})
}

func TestAppliedJobsAreNotFinishedAgain(t *testing.T) {
	var q *queue
	run(t, Options{}, func(_ context.Context, j memory.Job) (Completion, error) { return Applied, q.complete(j.Lease) }, func(t *testing.T, made *queue, r *Runner) {
		q = made
		q.add(job("1", ana))
		drain(t, r)
		if s := q.state("1").State; s != memory.JobDone || len(q.ended()) != 0 {
			t.Errorf("job is %s, Finish was called with %+v; want done without", s, q.ended())
		}
	})
}

func TestFailureIsTriedAgainLaterAndLater(t *testing.T) {
	var at []time.Time
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) {
		at = append(at, time.Now())
		return "", errors.New("the model is down")
	}, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana))
		r.Wake()
		time.Sleep(time.Hour)
		drain(t, r)
		j := q.state("1")
		if j.State != memory.JobParked || len(at) != memory.MaxAttempts || j.Error != "the model is down" {
			t.Fatalf("after an hour: %d attempts, job %+v; want %d and parked", len(at), j, memory.MaxAttempts)
		}
		if span := at[len(at)-1].Sub(at[0]); span < 10*time.Minute || span > 20*time.Minute {
			t.Errorf("the last attempt came after %v; want more than the ten minutes after which rules take over", span)
		}
		for i := 2; i < len(at)-1; i++ {
			if before, after := at[i-1].Sub(at[i-2]), at[i].Sub(at[i-1]); after <= before {
				t.Errorf("wait %d was %v after one of %v; want longer", i, after, before)
			}
		}
	})
}

func TestPutOffIsNoFailure(t *testing.T) {
	tries := 0
	var from time.Time
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) {
		if tries++; tries <= 2*memory.MaxAttempts {
			return "", fmt.Errorf("wrapped: %w", &PutOff{Until: time.Now().Add(time.Minute), Reason: "the talk goes on"})
		}
		return Nothing, nil
	}, func(t *testing.T, q *queue, r *Runner) {
		from = time.Now()
		q.add(job("1", ana))
		r.Wake()
		time.Sleep(time.Hour)
		drain(t, r)
		if j := q.state("1"); j.State != memory.JobDone || j.Attempts != 0 || tries != 2*memory.MaxAttempts+1 {
			t.Errorf("%v later: %d tries, job %+v; want it done without a failure", time.Since(from), tries, j)
		}
	})
}

func TestInvalidIsParkedAtOnce(t *testing.T) {
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) {
		return "", fmt.Errorf("read: %w", memory.Errorf(memory.Invalid, "no such conversation"))
	}, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana))
		drain(t, r)
		if j := q.state("1"); j.State != memory.JobParked || j.Attempts != 1 {
			t.Errorf("job %+v, want parked after one attempt", j)
		}
	})
}

func TestParkedJobDoesNotBlockTheOwner(t *testing.T) {
	run(t, Options{}, func(_ context.Context, j memory.Job) (Completion, error) {
		if j.ID == "bad" {
			return "", memory.Errorf(memory.Invalid, "unreadable")
		}
		return Nothing, nil
	}, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("bad", ana), job("good", ana))
		drain(t, r)
		if s := q.state("good").State; s != memory.JobDone {
			t.Errorf("the job after a parked one is %s, want done", s)
		}
	})
}

func TestPanicIsAFailure(t *testing.T) {
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) { panic("boom") }, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana))
		drain(t, r)
		if j := q.state("1"); j.Attempts != 1 || !strings.Contains(j.Error, "boom") {
			t.Errorf("job %+v, want one failed attempt that names the panic", j)
		}
	})
}

func TestLeaseIsKeptWhileAHandlerWorks(t *testing.T) {
	const lease = 30 * time.Second
	var calls atomic.Int32
	run(t, Options{Lease: lease}, func(context.Context, memory.Job) (Completion, error) {
		calls.Add(1)
		time.Sleep(10 * lease)
		return Nothing, nil
	}, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana))
		drain(t, r)
		_, extended := q.counts()
		if q.state("1").State != memory.JobDone || calls.Load() != 1 || extended < 10 {
			t.Errorf("%d calls, %d extensions, job %s; want one call under a kept lease", calls.Load(), extended, q.state("1").State)
		}
	})
}

func TestLostLeaseCancelsTheHandler(t *testing.T) {
	var cause error
	run(t, Options{Lease: time.Minute}, func(ctx context.Context, _ memory.Job) (Completion, error) {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return "", ctx.Err()
	}, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana))
		r.Wake()
		synctest.Wait() // the handler waits
		q.steal("1")
		drain(t, r)
		if !errors.Is(cause, memory.LeaseLost) || len(q.ended()) != 0 {
			t.Errorf("cause %v, finished with %+v; want lease_lost and no Finish", cause, q.ended())
		}
	})
}

func TestApplyThatLostTheLeaseIsNotFinished(t *testing.T) {
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) {
		return "", fmt.Errorf("apply: %w", memory.Errorf(memory.LeaseLost, "late"))
	}, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana))
		drain(t, r)
		if len(q.ended()) != 0 {
			t.Errorf("finished with %+v, want nothing", q.ended())
		}
	})
}

func TestWakeSavesThePoll(t *testing.T) {
	run(t, Options{Poll: time.Hour}, func(context.Context, memory.Job) (Completion, error) { return Nothing, nil }, func(t *testing.T, q *queue, r *Runner) {
		synctest.Wait() // the runner sleeps
		start := time.Now()
		q.add(job("1", ana))
		r.Wake()
		r.Wake() // twice is as good as once
		synctest.Wait()
		if s := q.state("1").State; s != memory.JobDone || time.Since(start) != 0 {
			t.Errorf("job is %s after %v, want done at once", s, time.Since(start))
		}
	})
}

func TestPollSeesWhatBecomesDue(t *testing.T) {
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) { return Nothing, nil }, func(t *testing.T, q *queue, r *Runner) {
		later := job("1", ana)
		later.RunAt = time.Now().Add(10 * time.Second)
		q.add(later)
		drain(t, r)
		if s := q.state("1").State; s != memory.JobQueued {
			t.Fatalf("a job for later is %s; Drain does not wait for it", s)
		}
		time.Sleep(10*time.Second + DefaultPoll)
		synctest.Wait()
		if s := q.state("1").State; s != memory.JobDone {
			t.Errorf("job is %s a poll after it was due, want done", s)
		}
	})
}

func TestWorkersShareAndOwnersWait(t *testing.T) {
	var now, most, anas atomic.Int32
	run(t, Options{Workers: 3}, func(_ context.Context, j memory.Job) (Completion, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		if j.Owner == ana && anas.Add(1) > 1 {
			t.Error("two jobs of one owner and kind ran at a time")
		}
		time.Sleep(time.Second)
		if j.Owner == ana {
			anas.Add(-1)
		}
		now.Add(-1)
		return Nothing, nil
	}, func(t *testing.T, q *queue, r *Runner) {
		for i := range 6 {
			q.add(job(fmt.Sprintf("a%d", i), ana), job(fmt.Sprintf("x%d", i), memory.User("default", fmt.Sprint(i))))
		}
		drain(t, r)
		if most.Load() != 3 || len(q.ended()) != 12 {
			t.Errorf("at most %d at a time, %d finished; want 3 and 12", most.Load(), len(q.ended()))
		}
	})
}

func TestStopLetsHandlersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		r := New(q, map[memory.JobKind]Handler{memory.JobLearn: func(ctx context.Context, _ memory.Job) (Completion, error) {
			time.Sleep(DefaultGrace / 2)
			return Nothing, ctx.Err()
		}}, Options{})
		ctx, stop := context.WithCancel(t.Context())
		q.add(job("1", ana), job("2", ana))
		time.AfterFunc(time.Millisecond, stop)
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if a, b := q.state("1").State, q.state("2").State; a != memory.JobDone || b != memory.JobQueued {
			t.Errorf("the running job is %s and the next %s; want done and queued", a, b)
		}
		if err := r.Drain(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("Drain after Run: %v, want ErrStopped", err)
		}
	})
}

func TestStopGivesBackWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		r := New(q, map[memory.JobKind]Handler{memory.JobLearn: func(ctx context.Context, _ memory.Job) (Completion, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}}, Options{})
		ctx, stop := context.WithCancel(t.Context())
		q.add(job("1", ana))
		time.AfterFunc(time.Millisecond, stop)
		start := time.Now()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		j := q.state("1")
		if took := time.Since(start); took != time.Millisecond+DefaultGrace || j.State != memory.JobQueued || j.RunAt.After(time.Now()) || j.Attempts != 0 {
			t.Errorf("stopped after %v, job %+v; want the grace period and a job that is due now and did not fail", took, j)
		}
	})
}

// TestAbandonedJobsRunAlone: if such a job kills the process again, no other job is charged.
func TestAbandonedJobsRunAlone(t *testing.T) {
	var busy, most, suspects atomic.Int32
	run(t, Options{}, func(_ context.Context, j memory.Job) (Completion, error) {
		n := busy.Add(1)
		defer busy.Add(-1)
		if j.AbandonedAttempts() > 0 {
			suspects.Add(1)
		}
		time.Sleep(2 * DefaultLease)
		if n := max(n, busy.Load()); j.AbandonedAttempts() > 0 {
			most.Store(max(most.Load(), n))
		}
		return Nothing, nil
	}, func(t *testing.T, q *queue, r *Runner) {
		for i := range 9 {
			j := job(fmt.Sprint(i), memory.User("default", fmt.Sprint(i)))
			if i == 2 || i == 5 {
				j.Error = memory.AbandonedError(1)
			}
			q.add(j)
		}
		drain(t, r)
		if suspects.Load() != 2 || most.Load() != 1 || len(q.ended()) != 9 {
			t.Errorf("%d abandoned jobs ran beside up to %d, %d ended; want 2 alone and all 9", suspects.Load(), most.Load()-1, len(q.ended()))
		}
	})
}

func TestQueueMayFail(t *testing.T) {
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) { return Nothing, nil }, func(t *testing.T, q *queue, r *Runner) {
		q.fail(errors.New("disk on fire"))
		q.add(job("1", ana))
		r.Wake()
		time.Sleep(time.Minute)
		if claims, _ := q.counts(); claims > 70 {
			t.Errorf("a broken queue was asked %d times in a minute", claims)
		}
		q.fail(nil)
		time.Sleep(DefaultPoll)
		drain(t, r)
		if s := q.state("1").State; s != memory.JobDone {
			t.Errorf("job is %s after the queue came back, want done", s)
		}
	})
}

func TestFinishThatFailsLeavesTheJobToItsLease(t *testing.T) {
	var calls atomic.Int32
	var q *queue
	run(t, Options{Lease: time.Minute}, func(context.Context, memory.Job) (Completion, error) {
		if calls.Add(1) == 1 {
			q.fail(errors.New("disk on fire"))
		}
		return Nothing, nil
	}, func(t *testing.T, made *queue, r *Runner) {
		q = made
		q.add(job("1", ana))
		r.Wake()
		synctest.Wait()
		q.fail(nil)
		time.Sleep(2 * time.Minute)
		drain(t, r)
		if calls.Load() != 2 || q.state("1").State != memory.JobDone {
			t.Errorf("%d calls, job %s; want a second call when the lease ran out", calls.Load(), q.state("1").State)
		}
	})
}

// The owner's second job is held back by the first, which ends between the look
// into the queue and its answer.
func TestDrainWaitsForAJobThatWasHeldBack(t *testing.T) {
	var ending chan struct{}
	var first atomic.Bool
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) {
		if !first.CompareAndSwap(false, true) {
			time.Sleep(time.Minute)
			return Nothing, nil
		}
		<-ending
		return Nothing, nil
	}, func(t *testing.T, q *queue, r *Runner) {
		ending = make(chan struct{})
		misses := 0
		q.missed = func() {
			r.mu.Lock()
			waits := len(r.drainWaiters) > 0
			r.mu.Unlock()
			if !waits || !first.Load() {
				return
			}
			if misses++; misses == 2 { // by then the waiter had asked before the look
				close(ending)
				time.Sleep(time.Millisecond) // until its worker is through
			}
		}
		q.add(job("1", ana), job("2", ana))
		drain(t, r)
		if len(q.ended()) != 2 {
			t.Errorf("%d jobs ended before Drain returned, want 2", len(q.ended()))
		}
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	run(t, Options{}, func(context.Context, memory.Job) (Completion, error) {
		time.Sleep(time.Minute)
		return Nothing, nil
	}, func(t *testing.T, q *queue, r *Runner) {
		q.add(job("1", ana), job("2", bob))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain = %v, want the context's error", err)
		}
		drain(t, r) // a waiter that left does not hold up others
		if len(q.ended()) != 2 {
			t.Errorf("%d jobs ended before Drain returned, want 2", len(q.ended()))
		}
	})
}
