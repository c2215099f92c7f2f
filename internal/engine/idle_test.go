package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
)

// waited returns how long wait takes.
func waited(ctx context.Context, l *core.IdleGate) time.Duration {
	started := time.Now()
	l.Wait(ctx)
	return time.Since(started)
}

func TestLearningWaitsForIdleButNotForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l core.IdleGate
		if took := waited(t.Context(), &l); took != 0 {
			t.Errorf("without questions it waits %v, want not at all", took)
		}
		end := l.Begin()
		time.AfterFunc(30*time.Millisecond, end)
		if took, want := waited(t.Context(), &l), 30*time.Millisecond+core.IdleTime; took < want || took > want+core.IdleTime {
			t.Errorf("beside a question of 30 ms it waits %v, want %v and little more", took, want)
		}
		end = l.Begin()
		if took := waited(t.Context(), &l); took != core.IdlePatience {
			t.Errorf("beside a question without end it waits %v, want %v", took, core.IdlePatience)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if took := waited(ctx, &l); took != 0 {
			t.Errorf("told to stop it waits %v, want not at all", took)
		}
		end()
		time.Sleep(core.IdleTime)
		if took := waited(t.Context(), &l); took != 0 {
			t.Errorf("after an idle moment it waits %v, want not at all", took)
		}
	})
}

// TestIdleBeginsWhenAnswerIsStored: the client's next question comes after that,
// however long the model took.
func TestIdleBeginsWhenAnswerIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, stores["inmem"])
		x := r.Exchange.Open(t.Context(), exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"I have a dog called Rex."}]`)})
		x.Prepare(t.Context())
		x.RecordQuestion(t.Context())
		time.Sleep(time.Minute)
		if !r.Idle.Quiet() {
			t.Error("while the model thinks there is no idle moment")
		}
		x.RecordAnswer(t.Context(), answered("Nice!"))
		if r.Idle.Quiet() {
			t.Error("once the answer is stored the idle moment is there at once")
		}
	})
}

// TestRunnerIsWokenWhenIdle: once for all who ask meanwhile, and not for ever put off.
func TestRunnerIsWokenWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		e := New(core.Parts{Wake: func() { woken++ }}, core.Options{})
		end := e.Idle.Begin()
		e.WakeWhenIdle()
		e.WakeWhenIdle()
		synctest.Wait()
		if woken != 0 {
			t.Errorf("beside a question it is woken %d times, want not at all", woken)
		}
		end()
		time.Sleep(core.IdleTime)
		synctest.Wait()
		if woken != 1 {
			t.Errorf("in the idle moment it was woken %d times, want once", woken)
		}
		e.Idle.Begin()
		e.WakeWhenIdle()
		time.Sleep(core.IdlePatience)
		synctest.Wait()
		if woken != 2 {
			t.Errorf("beside a question without end it was woken %d times in all, want twice", woken)
		}
	})
}
