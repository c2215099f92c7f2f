package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
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
		end := l.BeginQuestion()
		time.AfterFunc(30*time.Millisecond, end)
		if took, want := waited(t.Context(), &l), 30*time.Millisecond+core.IdleTime; took < want || took > want+core.IdleTime {
			t.Errorf("beside a question of 30 ms it waits %v, want %v and little more", took, want)
		}
		end = l.BeginQuestion()
		if took := waited(t.Context(), &l); took != core.IdleMaxWait {
			t.Errorf("beside a question without end it waits %v, want %v", took, core.IdleMaxWait)
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
