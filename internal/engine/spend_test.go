package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestSpendingStopsLearningForTheDay(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.llm = memtest.NewLLM(memtest.ScriptLine{Text: "NOTHING", Reusable: true})
		r.LLM = r.llm
		r.Opts.Learn.Spending = core.LearningBudget{InputPrice: 1e6, OutputPrice: 2e6, DailyTokenLimit: 1}
		p := memory.Prompt{Name: "extract", System: "What is there to know?", User: "I like tea."}
		for i := range 2 {
			_, err := r.Lessons.Complete(ctx, ana, p)
			var off *jobs.PutOff
			switch {
			case i == 0 && err != nil:
				t.Fatal(err)
			case i == 1 && (!errors.As(err, &off) || !off.Until.Equal(memory.StartOfDay(r.Time()).Add(24*time.Hour))):
				t.Errorf("call %d: %v, want it put off until tomorrow", i+1, err)
			}
		}
		if _, err := r.Lessons.Complete(ctx, ben, p); err != nil {
			t.Errorf("somebody else: %v, want no error", err)
		}
		r.clock.Advance(24 * time.Hour)
		if _, err := r.Lessons.Complete(ctx, ana, p); err != nil {
			t.Errorf("the next day: %v, want no error", err)
		}
		spent, err := r.Lessons.UsageSince(ctx, ana, time.Time{})
		if err != nil || len(spent) != 2 || spent[0].Calls != 1 || spent[0].InputTokens == 0 || spent[0].Cost == 0 || spent[0].Purpose != "extract" {
			t.Errorf("the ledger: %+v and %v, want a call on each of two days", spent, err)
		}
	})
}
