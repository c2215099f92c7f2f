package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/memory"
)

// waited returns how long wait takes.
func waited(ctx context.Context, l *lull) time.Duration {
	started := time.Now()
	l.wait(ctx)
	return time.Since(started)
}

func TestLearningWaitsForALullButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lull
		if took := waited(t.Context(), &l); took != 0 {
			t.Errorf("without questions it waits %v, want not at all", took)
		}
		end := l.begin()
		time.AfterFunc(30*time.Millisecond, end)
		if took, want := waited(t.Context(), &l), 30*time.Millisecond+lullTime; took < want || took > want+lullTime {
			t.Errorf("beside a question of 30 ms it waits %v, want %v and little more", took, want)
		}
		end = l.begin()
		if took := waited(t.Context(), &l); took != lullPatience {
			t.Errorf("beside a question without end it waits %v, want %v", took, lullPatience)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if took := waited(ctx, &l); took != 0 {
			t.Errorf("told to stop it waits %v, want not at all", took)
		}
		end()
		time.Sleep(lullTime)
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
	e := New(Parts{Searcher: w}, Options{})
	ana := memory.User(memory.DefaultNamespace, "ana")
	e.warm(ana)
	end := e.lull.begin()
	e.warm(ana)
	end()
	e.warm(ana)
	if len(w.owners) != 2 {
		t.Errorf("warmed for %v, want twice: not while a question is under way", w.owners)
	}
	New(Parts{}, Options{}).warm(ana) // a searcher that cannot is left alone
}

// TestALullBeginsWhenTheAnswerIsStored: the client's next question comes after that,
// however long the model took.
func TestALullBeginsWhenTheAnswerIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, stores["inmem"])
		x := r.Open(t.Context(), Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"I have a dog called Rex."}]`)})
		x.Prepare(t.Context())
		x.RecordQuestion(t.Context())
		time.Sleep(time.Minute)
		if left := r.lull.left(); left > 0 {
			t.Errorf("while the model thinks the lull is %v away, want it to be there", left)
		}
		x.RecordAnswer(t.Context(), answered("Nice!"))
		if left := r.lull.left(); left != lullTime {
			t.Errorf("once the answer is stored the lull is %v away, want %v", left, lullTime)
		}
	})
}

// TestTheRunnerIsWokenInALull: once for all who ask meanwhile, and not for ever put off.
func TestTheRunnerIsWokenInALull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		e := New(Parts{Wake: func() { woken++ }}, Options{})
		end := e.lull.begin()
		e.wakeInLull()
		e.wakeInLull()
		synctest.Wait()
		if woken != 0 {
			t.Errorf("beside a question it is woken %d times, want not at all", woken)
		}
		end()
		time.Sleep(lullTime)
		synctest.Wait()
		if woken != 1 {
			t.Errorf("in the lull it was woken %d times, want once", woken)
		}
		e.lull.begin()
		e.wakeInLull()
		time.Sleep(lullPatience)
		synctest.Wait()
		if woken != 2 {
			t.Errorf("beside a question without end it was woken %d times in all, want twice", woken)
		}
	})
}
