package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// waited returns how long wait takes.
func waited(ctx context.Context, l *core.Lull) time.Duration {
	started := time.Now()
	l.Wait(ctx)
	return time.Since(started)
}

func TestLearningWaitsForALullButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l core.Lull
		if took := waited(t.Context(), &l); took != 0 {
			t.Errorf("without questions it waits %v, want not at all", took)
		}
		end := l.Begin()
		time.AfterFunc(30*time.Millisecond, end)
		if took, want := waited(t.Context(), &l), 30*time.Millisecond+core.LullTime; took < want || took > want+core.LullTime {
			t.Errorf("beside a question of 30 ms it waits %v, want %v and little more", took, want)
		}
		end = l.Begin()
		if took := waited(t.Context(), &l); took != core.LullPatience {
			t.Errorf("beside a question without end it waits %v, want %v", took, core.LullPatience)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if took := waited(ctx, &l); took != 0 {
			t.Errorf("told to stop it waits %v, want not at all", took)
		}
		end()
		time.Sleep(core.LullTime)
		if took := waited(t.Context(), &l); took != 0 {
			t.Errorf("after a lull it waits %v, want not at all", took)
		}
	})
}

// warming is a searcher that notes whom it is warmed for.
type warming struct {
	memory.Searcher
	owners []memory.Owner
}

func (w *warming) Warm(owner memory.Owner) { w.owners = append(w.owners, owner) }

func TestASearcherIsWarmedUnlessQuestionsAreUnderWay(t *testing.T) {
	w := &warming{}
	e := New(core.Parts{Searcher: w}, core.Options{})
	ana := memory.User(memory.DefaultNamespace, "ana")
	e.Warm(ana)
	end := e.Lull.Begin()
	e.Warm(ana)
	end()
	e.Warm(ana)
	if len(w.owners) != 2 {
		t.Errorf("warmed for %v, want twice: not while a question is under way", w.owners)
	}
	New(core.Parts{}, core.Options{}).Warm(ana) // a searcher that cannot is left alone
}

// TestALullBeginsWhenTheAnswerIsStored: the client's next question comes after that,
// however long the model took.
func TestALullBeginsWhenTheAnswerIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, stores["inmem"])
		x := r.Exchange.Open(t.Context(), exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"I have a dog called Rex."}]`)})
		x.Prepare(t.Context())
		x.RecordQuestion(t.Context())
		time.Sleep(time.Minute)
		if left := r.Lull.Left(); left > 0 {
			t.Errorf("while the model thinks the lull is %v away, want it to be there", left)
		}
		x.RecordAnswer(t.Context(), answered("Nice!"))
		if left := r.Lull.Left(); left != core.LullTime {
			t.Errorf("once the answer is stored the lull is %v away, want %v", left, core.LullTime)
		}
	})
}

// TestTheRunnerIsWokenInALull: once for all who ask meanwhile, and not for ever put off.
func TestTheRunnerIsWokenInALull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		e := New(core.Parts{Wake: func() { woken++ }}, core.Options{})
		end := e.Lull.Begin()
		e.WakeInLull()
		e.WakeInLull()
		synctest.Wait()
		if woken != 0 {
			t.Errorf("beside a question it is woken %d times, want not at all", woken)
		}
		end()
		time.Sleep(core.LullTime)
		synctest.Wait()
		if woken != 1 {
			t.Errorf("in the lull it was woken %d times, want once", woken)
		}
		e.Lull.Begin()
		e.WakeInLull()
		time.Sleep(core.LullPatience)
		synctest.Wait()
		if woken != 2 {
			t.Errorf("beside a question without end it was woken %d times in all, want twice", woken)
		}
	})
}
