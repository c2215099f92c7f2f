package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// The child's writes depend only on numbers, so that the parent can compute the expected data. The n-th
// exchange of a writer has two turns and a job; the n-th fact has a vector. A run named after the job learns
// from the exchange and adds a fact named after the user's turn.

const crashWriters = 3

func crashBatch(writer, n int) memory.Batch {
	b := memtest.Batch(ana, fmt.Sprint("conversation ", writer), 2*n, fmt.Sprintf("said by %d, %d", writer, n), "noted")
	j := memtest.Job(ana, memory.JobLearn, b.Turns[0].ID)
	j.Conversation, j.Turns = b.Conversation.ID, []string{b.Turns[0].ID}
	b.Jobs = []memory.Job{j}
	b.Vectors = []memory.Vector{memtest.Vector(b.Turns[0].ID, b.Turns[0].Content)}
	return b
}

func crashFact(writer, n int) memory.Fact {
	return memtest.Fact(ana, fmt.Sprintf("fact %d of %d", n, writer))
}

func learnedFact(turnID string) memory.Fact { return memtest.Fact(ana, "learned from "+turnID) }

// childPlan is a child's instructions from the parent.
type childPlan struct {
	StorePath   string
	KillPoint   int64             // number of the point at which the child dies; 0 means none
	ClockOffset int               // offset of the child's clock in hours
	AckedFacts  [crashWriters]int // number of acknowledged facts of each writer
}

// crashChild writes to the store until the process is killed.
func crashChild(c CrashConfig, planJSON string) error {
	var plan childPlan
	if err := json.Unmarshal([]byte(planJSON), &plan); err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	s, err := c.Open(plan.StorePath, clockAhead(plan.ClockOffset), killAtCall(plan.KillPoint))
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	wake := make(chan struct{}, 1)
	var group sync.WaitGroup
	for w, n := range plan.AckedFacts {
		group.Go(func() { stop(writeUntilKilled(ctx, s, w, n, wake)) })
	}
	group.Go(func() {
		for {
			if err := learnAll(ctx, s, acknowledge); err != nil {
				stop(err)
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
	})
	group.Wait()
	return context.Cause(ctx)
}

// acknowledge reports a write to the parent. It writes the line in one call, so that no kill splits the line.
func acknowledge(text string) {
	if _, err := os.Stdout.WriteString(ackPrefix + text + "\n"); err != nil {
		os.Exit(1) // the parent has ended
	}
}

// writeUntilKilled appends a writer's exchanges and facts from number n on, and wakes the learner after each
// exchange. The first exchange may exist: an earlier child may have died before acknowledging the exchange.
func writeUntilKilled(ctx context.Context, s memory.Store, writer, n int, wake chan<- struct{}) error {
	for ; ; n++ {
		if _, err := s.Append(ctx, ana, crashBatch(writer, n)); err != nil {
			return fmt.Errorf("append %d of %d: %w", n, writer, err)
		}
		acknowledge(fmt.Sprintf("exchange %d %d", writer, n))
		select {
		case wake <- struct{}{}:
		default:
		}
		f := crashFact(writer, n)
		run := memtest.Run(f.ID)
		run.Vectors = []memory.Vector{memtest.Vector(f.ID, f.Content)}
		if _, err := s.Apply(ctx, ana, run, memtest.Add(f)); err != nil {
			return fmt.Errorf("apply %d of %d: %w", n, writer, err)
		}
		acknowledge(fmt.Sprintf("fact %d %d", writer, n))
	}
}

// learnAll learns from all turns that have a due job.
func learnAll(ctx context.Context, s memory.Store, acknowledge func(string)) error {
	for {
		j, err := s.Claim(ctx, learnKinds, time.Minute)
		if errors.Is(err, memory.NotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		run := memtest.Run("learn " + j.ID)
		run.Lease, run.Learned = &j.Lease, j.Turns
		if _, err := s.Apply(ctx, ana, run, memtest.Add(learnedFact(j.Turns[0]))); err != nil {
			return fmt.Errorf("learn %s: %w", j.ID, err)
		}
		acknowledge("learned " + j.Turns[0])
	}
}

// acknowledgedWrites contains the acknowledged writes.
type acknowledgedWrites struct {
	exchanges, facts [crashWriters]int // number of acknowledged writes, by writer
	learnedTurns     []string          // ids of the turns learned from
	badLines         []string          // lines that could not be parsed
}

func (l *acknowledgedWrites) addLine(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	if kind == "learned" {
		l.learnedTurns = append(l.learnedTurns, rest)
		return
	}
	var writer, n int
	_, err := fmt.Sscan(rest, &writer, &n)
	switch {
	case err == nil && kind == "exchange" && n <= l.exchanges[writer]:
		l.exchanges[writer] = n + 1
	case err == nil && kind == "fact" && n == l.facts[writer]:
		l.facts[writer] = n + 1
	default:
		l.badLines = append(l.badLines, line)
	}
}

func (l *acknowledgedWrites) size() int {
	n := len(l.learnedTurns)
	for w := range crashWriters {
		n += l.exchanges[w] + l.facts[w]
	}
	return n
}

// check checks that all acknowledged writes exist, and that no other write exists in part.
func (l *acknowledgedWrites) check(r *rig) {
	r.Helper()
	if len(l.badLines) > 0 {
		r.Fatalf("the children wrote %q", l.badLines)
	}
	data := readAfterKill(r)
	for w := range crashWriters {
		for n := range l.exchanges[w] {
			for _, t := range crashBatch(w, n).Turns {
				data.checkExistsOnce(r, "turn", t.ID)
			}
		}
		for n := range l.facts[w] {
			data.checkExistsOnce(r, "fact", crashFact(w, n).ID)
		}
		data.checkNoPartialExchange(r, w, l.exchanges[w])
	}
	for _, turn := range l.learnedTurns {
		data.checkExistsOnce(r, "fact", learnedFact(turn).ID)
	}
	data.checkConsistent(r)
}

// dataAfterKill is an owner's data after a kill.
type dataAfterKill struct {
	listCounts map[string]int // number of times that a list returns the memory, by id
	addCounts  map[string]int // number of additions of the fact in the journal, by id
	turns      map[string]memory.Turn
	jobs       map[string]memory.Job
	hasVector  map[string]bool // whether the memory has a vector, by id
	version    int64
	versions   map[int64]bool // versions that occur in the data
}

func readAfterKill(r *rig) *dataAfterKill {
	r.Helper()
	f := &dataAfterKill{
		listCounts: map[string]int{}, addCounts: map[string]int{}, turns: map[string]memory.Turn{},
		jobs: map[string]memory.Job{}, hasVector: map[string]bool{}, versions: map[int64]bool{},
	}
	all := r.readSnapshot(ana)
	for _, m := range all.Export.Memories {
		f.listCounts[m.ID()]++
		f.versions[m.Version()] = true
		if m.Turn != nil {
			f.turns[m.ID()] = *m.Turn
		}
	}
	for _, c := range all.Journal {
		f.addCounts[c.After.Fact.ID]++
		f.versions[c.Version] = true
	}
	for _, j := range all.Jobs {
		f.jobs[j.ID] = j
	}
	for _, i := range all.Items {
		f.hasVector[i.ID] = i.Vector != nil
	}
	f.version = all.Version
	return f
}

func (f *dataAfterKill) checkExistsOnce(r *rig, kind, id string) {
	r.Helper()
	if n := f.listCounts[id]; n != 1 {
		r.Errorf("acknowledged %s %s exists %d times, want once", kind, id, n)
	}
}

// checkNoPartialExchange checks a writer's exchanges, acknowledged or not: turns, vector, job and learned
// fact of an exchange exist together or not at all.
func (f *dataAfterKill) checkNoPartialExchange(r *rig, writer, acknowledged int) {
	r.Helper()
	for n := range acknowledged + 2 {
		b := crashBatch(writer, n)
		user, answer, j := b.Turns[0].ID, b.Turns[1].ID, b.Jobs[0].ID
		turn, ok := f.turns[user]
		job, queued := f.jobs[j]
		learned := f.listCounts[learnedFact(user).ID] == 1
		if !queued && learned { // the store may already have removed the row of the done job
			job.State, queued = memory.JobDone, true
		}
		if _, answered := f.turns[answer]; ok != answered || ok != queued || ok != f.hasVector[user] {
			r.Errorf("exchange %d of writer %d: user turn %v, answer %v, job %v, vector %v; want all or none", n, writer, ok, answered, queued, f.hasVector[user])
		}
		if done := job.State == memory.JobDone; done != learned || done == turn.LearnedAt.IsZero() {
			r.Errorf("exchange %d of writer %d: job %q, learned fact %v, learned at %v; want all or none", n, writer, job.State, learned, turn.LearnedAt)
		}
		if fact := crashFact(writer, n).ID; f.listCounts[fact] == 1 && !f.hasVector[fact] {
			r.Errorf("fact %d of writer %d has no vector", n, writer)
		}
	}
}

// checkConsistent checks that each version occurs in the data and that facts and journal agree.
func (f *dataAfterKill) checkConsistent(r *rig) {
	r.Helper()
	for v := int64(1); v <= f.version; v++ {
		if !f.versions[v] {
			r.Errorf("no memory or change has version %d of %d", v, f.version)
		}
	}
	for id, n := range f.addCounts {
		if n != 1 || f.listCounts[id] != 1 {
			r.Errorf("fact %s was added %d times and exists %d times, want once", id, n, f.listCounts[id])
		}
	}
	if facts := len(f.listCounts) - len(f.turns); facts != len(f.addCounts) {
		r.Errorf("facts: got %d, but %d in the journal", facts, len(f.addCounts))
	}
}

// checkLearned checks that no unlearned turn and no unfinished job remains.
func checkLearned(r *rig) {
	r.Helper()
	remaining := r.turns(ana, memory.TurnQuery{Unlearned: true})
	open := slices.DeleteFunc(r.jobs(ana), func(j memory.Job) bool { return j.State == memory.JobDone })
	if len(remaining) > 0 || len(open) > 0 {
		r.Errorf("after learning from all turns: %d turns and %d jobs remain: %+v", len(remaining), len(open), open)
	}
}
