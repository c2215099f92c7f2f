package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var queueRules = []rule{
	{"ClaimTakesTheLongestDue", claimTakesTheLongestDue},
	{"ClaimIsExclusive", claimIsExclusive},
	{"ClaimIsSerialPerOwner", claimIsSerialPerOwner},
	{"ClaimNarrowsToKinds", claimNarrowsToKinds},
	{"LeaseExpires", leaseExpires},
	{"ExtendKeepsTheLease", extendKeepsTheLease},
	{"LateWorkerIsNoOp", lateWorkerIsNoOp},
	{"FinishWithRetry", finishWithRetry},
	{"LaterIsNoFailure", laterIsNoFailure},
	{"ParkedAfterMaxAttempts", parkedAfterMaxAttempts},
	{"ParkedAfterThreeAbandonedAttempts", parkedAfterThreeAbandonedAttempts},
	{"AnEndedAttemptForgetsAbandonedOnes", anEndedAttemptForgetsAbandonedOnes},
	{"RequeueParked", requeueParked},
	{"JobsAreQueuedOnce", jobsAreQueuedOnce},
}

var learning = []memory.JobKind{memory.JobLearn}

// enqueue queues jobs of one owner in one run.
func (r *rig) enqueue(jobs ...memory.Job) memory.Receipt {
	r.Helper()
	run := r.run()
	run.Jobs = jobs
	return r.applyRun(jobs[0].Owner, run)
}

func (r *rig) claim(kinds ...memory.JobKind) memory.Job {
	r.Helper()
	if len(kinds) == 0 {
		kinds = learning
	}
	j, err := r.Claim(r.Context(), kinds, time.Minute)
	r.must("claim", err)
	return j
}

// nothingDue checks that no job can be claimed.
func (r *rig) nothingDue(why string, kinds ...memory.JobKind) {
	r.Helper()
	if len(kinds) == 0 {
		kinds = learning
	}
	if j, err := r.Claim(r.Context(), kinds, time.Minute); !errors.Is(err, memory.NotFound) {
		r.Errorf("claim, %s: got job %s and %v, want %s", why, j.ID, err, memory.NotFound)
	}
}

func job(owner memory.Owner, name string) memory.Job {
	return memtest.Job(owner, memory.JobLearn, name)
}

func claimTakesTheLongestDue(r *rig) {
	late, soon, now, future := job(ana, "late"), job(ben, "soon"), job(team, "now"), job(team, "future")
	late.RunAt, soon.RunAt = memtest.Epoch.Add(-time.Hour), memtest.Epoch.Add(-time.Minute)
	future.RunAt = memtest.Epoch.Add(time.Hour)
	r.enqueue(now, future)
	r.enqueue(soon)
	r.enqueue(late)
	for _, want := range []memory.Job{late, soon, now} {
		r.clock.Advance(time.Second)
		got := r.claim()
		if got.ID != want.ID || got.State != memory.JobRunning || got.Lease.Owner != want.Owner || got.Lease.Job != want.ID ||
			got.Lease.Token == "" || !got.Lease.Until.After(memtest.Epoch.Add(time.Minute)) || got.Attempts != 0 {
			r.Errorf("claimed: got %+v, want %s running", got, want.ID)
		}
		r.must("finish", r.Finish(r.Context(), got.Lease, memory.Outcome{Done: true}))
	}
	r.nothingDue("with one job in the future")
	r.clock.Advance(2 * time.Hour)
	r.same("the one in the future, then", r.claim().ID, future.ID)
	_, err := r.Claim(r.Context(), learning, 0)
	r.wantCode("a lease of no time", err, memory.Invalid)
	embed, learn := memtest.Job(ben, memory.JobEmbed, "z"), job(ben, "a")
	r.enqueue(learn, embed)
	r.same("of one owner's that are due alike, by kind", r.claim(memory.JobLearn, memory.JobEmbed).ID, embed.ID)
}

func claimIsExclusive(r *rig) {
	r.enqueue(job(ana, "one"))
	held := r.claim()
	r.nothingDue("while it is held")
	got := r.jobs(ana)
	if len(got) != 1 || got[0].State != memory.JobRunning {
		r.Errorf("jobs while it is held: got %+v, want it running", got)
	}
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}))
	r.nothingDue("after it is done")
	r.same("jobs that are not done", len(r.jobs(ana)), 0)
	r.same("done jobs", ids(r.jobs(ana, memory.JobDone)), []string{held.ID})
	r.wantCode("finishing twice", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}), memory.LeaseLost)
}

func claimIsSerialPerOwner(r *rig) {
	first, second := job(ana, "first"), job(ana, "second")
	second.RunAt = memtest.Epoch.Add(time.Nanosecond)
	first.RunAt = memtest.Epoch.Add(-time.Minute)
	bens := job(ben, "ben's")
	other := memtest.Job(ana, memory.JobSummarize, "other kind")
	r.enqueue(first, second, other)
	r.enqueue(bens)
	held := r.claim()
	r.same("first claim", held.ID, first.ID)
	r.same("second claim", r.claim().ID, bens.ID)
	r.nothingDue("while both owners have one running")
	r.same("another kind", r.claim(memory.JobLearn, memory.JobSummarize).ID, other.ID)
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{RetryAt: memtest.Epoch.Add(time.Hour)}))
	r.same("after the first failed", r.claim().ID, second.ID)
}

func claimNarrowsToKinds(r *rig) {
	r.enqueue(job(ana, "learn"), memtest.Job(ana, memory.JobEmbed, "embed"))
	r.nothingDue("of another kind", memory.JobSummarize)
	if _, err := r.Claim(r.Context(), nil, time.Minute); !errors.Is(err, memory.NotFound) {
		r.Errorf("claim of no kinds: got %v, want %s", err, memory.NotFound)
	}
	r.same("of its kind", r.claim(memory.JobEmbed, memory.JobSummarize).Kind, memory.JobEmbed)
}

func leaseExpires(r *rig) {
	r.clock.Step(-1)
	r.enqueue(job(ana, "one"), job(ana, "two"))
	held := r.claim()
	r.clock.Advance(time.Minute - time.Microsecond)
	r.nothingDue("a moment before the lease ends")
	r.clock.Advance(time.Microsecond)
	again := r.claim()
	if again.ID != held.ID || again.Attempts != 1 || again.Error == "" || again.Lease.Token == held.Lease.Token {
		r.Errorf("claim when the lease ended: got %+v, want %s with one failure and another token", again, held.ID)
	}
	r.wantCode("finish by the first worker", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}), memory.LeaseLost)
	_, err := r.Extend(r.Context(), held.Lease, time.Minute)
	r.wantCode("extend by the first worker", err, memory.LeaseLost)
	r.must("finish by the second", r.Finish(r.Context(), again.Lease, memory.Outcome{Done: true}))
}

func extendKeepsTheLease(r *rig) {
	r.clock.Step(-1)
	r.enqueue(job(ana, "one"))
	held := r.claim()
	r.clock.Advance(40 * time.Second)
	extended, err := r.Extend(r.Context(), held.Lease, time.Minute)
	r.must("extend", err)
	want := held.Lease
	want.Until = memtest.Epoch.Add(100 * time.Second)
	r.same("extended lease", extended, want)
	r.clock.Advance(50 * time.Second)
	r.nothingDue("after the first end")
	r.must("finish by the lease as it was first", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}))

	r.enqueue(job(ana, "two"))
	lost := r.claim()
	r.clock.Advance(time.Minute)
	_, err = r.Extend(r.Context(), lost.Lease, time.Minute)
	r.wantCode("extend of a lease that ran out", err, memory.LeaseLost)
	r.wantCode("finish of a lease that ran out", r.Finish(r.Context(), lost.Lease, memory.Outcome{Done: true}), memory.LeaseLost)
	_, err = r.Extend(r.Context(), r.claim().Lease, 0)
	r.wantCode("extend by no time", err, memory.Invalid)
}

func lateWorkerIsNoOp(r *rig) {
	b := memtest.Batch(ana, "c", 0, "hello")
	b.Jobs = []memory.Job{job(ana, "one")}
	r.append(ana, b)
	late := r.claim()
	r.clock.Advance(2 * time.Minute)
	commit := func(name string, lease memory.Lease) error {
		run := memtest.Run(name)
		run.Lease, run.Learned = &lease, []string{b.Turns[0].ID}
		_, err := r.Apply(r.Context(), ana, run, memtest.Add(memtest.Fact(ana, "learned")))
		return err
	}
	was := r.snapshot(ana)
	r.wantCode("commit after the lease ran out", commit("late", late.Lease), memory.LeaseLost)
	r.same("after the late commit", r.snapshot(ana), was)

	current := r.claim()
	was = r.snapshot(ana)
	r.wantCode("commit while another works", commit("late", late.Lease), memory.LeaseLost)
	forged := current.Lease
	forged.Token = "forged"
	r.wantCode("commit with a token nobody gave", commit("late", forged), memory.LeaseLost)
	r.same("after the late commits", r.snapshot(ana), was)
	bens := memtest.Run("ben")
	bens.Lease = &current.Lease
	_, err := r.Apply(r.Context(), ben, bens)
	r.wantCode("another owner's lease", err, memory.LeaseLost)

	r.must("commit of the current worker", commit("current", current.Lease))
	r.same("done jobs", ids(r.jobs(ana, memory.JobDone)), []string{late.ID})
	r.wantCode("commit with a lease that is done", commit("later", current.Lease), memory.LeaseLost)
	r.lists("learned", ana, memory.Query{}, "learned")
}

func finishWithRetry(r *rig) {
	r.enqueue(job(ana, "one"))
	held := r.claim()
	at := memtest.Epoch.Add(time.Hour)
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{RetryAt: at, Cause: "the model was asleep"}))
	got := r.jobs(ana)[0]
	if got.State != memory.JobQueued || got.Attempts != 1 || got.Error != "the model was asleep" || !got.RunAt.Equal(at) || got.Lease != (memory.Lease{}) {
		r.Errorf("job after a failure: got %+v, want it queued for %v with the cause", got, at)
	}
	r.nothingDue("before its time")
	r.clock.Advance(2 * time.Hour)
	held = r.claim()
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Cause: "again"}))
	held = r.claim() // without RetryAt: at once
	if held.Attempts != 2 || held.Error != "again" {
		r.Errorf("third claim: got %+v, want two failures, the last again", held)
	}
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Park: true, Cause: "hopeless"}))
	r.nothingDue("after parking")
	if got := r.jobs(ana, memory.JobParked); len(got) != 1 || got[0].Error != "hopeless" || got[0].Attempts != 3 {
		r.Errorf("parked jobs: got %+v, want the job with its cause", got)
	}
}

func laterIsNoFailure(r *rig) {
	r.enqueue(job(ana, "one"))
	for i := range memory.MaxAttempts + 1 {
		held := r.claim()
		at := r.clock.Now().Add(time.Hour)
		r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Later: true, RetryAt: at, Cause: "the talk goes on"}))
		got := r.jobs(ana)[0]
		if got.State != memory.JobQueued || got.Attempts != 0 || got.Error != "the talk goes on" || !got.RunAt.Equal(memory.Time(at)) {
			r.Errorf("put off %d times: got %+v, want it queued for %v without a failure", i+1, got, at)
		}
		r.nothingDue("before its time")
		r.clock.Advance(time.Hour)
	}
}

func parkedAfterMaxAttempts(r *rig) {
	r.enqueue(job(ana, "one"))
	for i := range memory.MaxAttempts {
		held := r.claim()
		if i%2 == 0 {
			r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Cause: "no"}))
			continue
		}
		r.clock.Advance(time.Minute) // a worker that died counts as well
	}
	r.enqueue(job(ana, "two"))
	next := r.claim() // takes the last dead worker's job back, and is not blocked by it
	r.same("claimed", next.ID, job(ana, "two").ID)
	parked := r.jobs(ana, memory.JobParked)
	if len(parked) != 1 || parked[0].ID != job(ana, "one").ID || parked[0].Attempts != memory.MaxAttempts {
		r.Errorf("parked jobs: got %+v, want the first with %d failures", parked, memory.MaxAttempts)
	}
	r.clock.Advance(24 * time.Hour)
	r.same("a day later only the other is due", r.claim().ID, next.ID)
}

// parkedAfterThreeAbandonedAttempts: each worker claims the job and is never heard of again.
func parkedAfterThreeAbandonedAttempts(r *rig) {
	r.enqueue(job(ana, "one"))
	for i := range memory.MaxAbandoned {
		held := r.claim()
		r.same("abandoned before", held.Abandoned(), i)
		r.clock.Advance(time.Minute)
	}
	r.nothingDue("after the last worker died")
	parked := r.jobs(ana, memory.JobParked)
	if len(parked) != 1 || parked[0].Attempts != memory.MaxAbandoned || parked[0].Abandoned() != memory.MaxAbandoned {
		r.Fatalf("parked jobs: got %+v, want the job after %d abandoned attempts", parked, memory.MaxAbandoned)
	}
	r.must("requeue", r.Requeue(r.Context(), ana, parked[0].ID))
	r.same("abandoned after a requeue", r.claim().Abandoned(), 0)
}

func anEndedAttemptForgetsAbandonedOnes(r *rig) {
	r.enqueue(job(ana, "one"))
	for _, end := range []memory.Outcome{{Later: true, Cause: "the talk goes on"}, {Cause: "the model is down"}, {Later: true}} {
		for range memory.MaxAbandoned - 1 {
			r.claim()
			r.clock.Advance(time.Minute)
		}
		held := r.claim()
		r.same("abandoned", held.Abandoned(), memory.MaxAbandoned-1)
		if end.Cause == "" {
			return
		}
		r.must("finish", r.Finish(r.Context(), held.Lease, end))
		r.same("abandoned after an attempt that ended", r.jobs(ana)[0].Abandoned(), 0)
	}
}

func requeueParked(r *rig) {
	r.enqueue(job(ana, "one"))
	id := job(ana, "one").ID
	r.wantCode("requeue of a queued job", r.Requeue(r.Context(), ana, id), memory.Conflict)
	held := r.claim()
	r.wantCode("requeue of a running job", r.Requeue(r.Context(), ana, id), memory.Conflict)
	r.must("park", r.Finish(r.Context(), held.Lease, memory.Outcome{Park: true, Cause: "no"}))
	r.wantCode("requeue of another owner's job", r.Requeue(r.Context(), ben, id), memory.NotFound)
	r.wantCode("requeue of no job", r.Requeue(r.Context(), ana, "none"), memory.NotFound)

	r.clock.Advance(time.Hour)
	r.must("requeue", r.Requeue(r.Context(), ana, id))
	got := r.jobs(ana)[0]
	if got.State != memory.JobQueued || got.Attempts != 0 || got.Error != "" || got.RunAt.Before(memtest.Epoch.Add(time.Hour)) {
		r.Errorf("requeued job: got %+v, want it due now and as new", got)
	}
	r.same("claimed", r.claim().ID, id)
}

func jobsAreQueuedOnce(r *rig) {
	one := job(ana, "one")
	one.Conversation, one.Turns = "c", []string{"t1", "t2"}
	one.State, one.Attempts, one.Error = memory.JobParked, 7, "made up"
	first := r.enqueue(one)
	r.enqueue(one)
	want := one
	want.State, want.Attempts, want.Error, want.CreatedAt, want.RunAt = memory.JobQueued, 0, "", first.At, first.At
	r.same("jobs", r.jobs(ana), []memory.Job{want})
	held := r.claim()
	r.enqueue(one)
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}))
	r.enqueue(one)
	r.nothingDue("queued again while it ran and after")
	bens := one
	bens.Owner = ben
	r.enqueue(bens)
	r.same("another owner's job of that id", r.claim().Owner, ben)

	for i := range 3 {
		r.enqueue(job(ana, fmt.Sprint(i)))
	}
	r.same("newest first", ids(r.jobs(ana)), []string{job(ana, "2").ID, job(ana, "1").ID, job(ana, "0").ID})
}
