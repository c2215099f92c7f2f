package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// tidied does an owner's upkeep.
func (r *rig) tidied(t *testing.T, owner memory.Owner) {
	t.Helper()
	ctx := context.Background()
	job := memory.Job{ID: core.NewID(), Owner: owner, Kind: memory.JobUpkeep}
	noError(t)(r.Store.Apply(ctx, owner, memory.Run{ID: core.NewID(), Kind: "test", Jobs: []memory.Job{job}}))
	noError(t)(r.work(ctx)) // learns, then tidies
}

func (r *rig) contents(t *testing.T, owner memory.Owner, q memory.Query) []string {
	t.Helper()
	var out []string
	noError(t)(r.EachMemory(context.Background(), owner, q, func(m memory.Memory) { out = append(out, m.Content()) }))
	slices.Sort(out)
	return out
}

// learned puts facts into the store as learning would.
func (r *rig) learn(t *testing.T, owner memory.Owner, confidence float64, contents ...string) {
	t.Helper()
	for _, c := range contents {
		f := try(r.Curate.FactFromInput(owner, curate.FactInput{Content: c, Confidence: &confidence})).orFail(t)
		f.Source, f.Trust = memory.Extracted, memory.TrustUser
		noError(t)(r.Store.Apply(context.Background(), owner, memory.Run{ID: core.NewID(), Kind: "learn"}, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}}))
		r.clock.Advance(time.Minute)
	}
}

func TestExpiredFactsLeave(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		for i, c := range []string{"User parks in bay 12", "User has a guest this week"} {
			noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: c, ExpiresAt: r.Time().Add(time.Duration(i*48+24) * time.Hour)}, her))
		}
		r.clock.Advance(36 * time.Hour)
		r.tidied(t, ana)
		if got, want := r.contents(t, ana, memory.Query{}), []string{"User has a guest this week"}; !slices.Equal(got, want) {
			t.Errorf("after a day and a half: %q, want %q", got, want)
		}
	})
}

func TestFactsThatAreNotSaidAgainFade(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.Opts.Learn.Upkeep = core.UpkeepOptions{HalfLife: 30 * 24 * time.Hour}
		r.learn(t, ana, 0.5, "User likes figs")
		r.learn(t, ana, 0.9, "User lives in Lisbon")
		r.note(t, ana, "User is allergic to peanuts")
		r.clock.Advance(41 * 24 * time.Hour) // 0.5 is 0.19 by then, 0.9 is 0.35
		r.tidied(t, ana)
		if got, want := r.contents(t, ana, memory.Query{}), []string{"User is allergic to peanuts", "User lives in Lisbon"}; !slices.Equal(got, want) {
			t.Errorf("after 41 days: %q, want %q", got, want)
		}
		r.clock.Advance(400 * 24 * time.Hour)
		r.tidied(t, ana)
		if got, want := r.contents(t, ana, memory.Query{}), []string{"User is allergic to peanuts"}; !slices.Equal(got, want) {
			t.Errorf("what a person wrote stays: %q, want %q", got, want)
		}
	})
}

func TestTheOldestLeaveWhereThereAreTooMany(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.Opts.Learn.Upkeep = core.UpkeepOptions{UserLimit: 5, ConversationLimit: 3}
		pinned := true
		noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: "User is Ana", Core: memory.Pin(pinned)}, her))
		r.learn(t, ana, 1, "fact number 1", "fact number 2")
		for _, c := range []string{"a", "b"} {
			for i := range 4 {
				r.clock.Advance(time.Minute)
				noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: c, Messages: []exchange.Message{{Role: memory.RoleUser, Content: fmt.Sprintf("%s says %d", c, i)}}}))
			}
		}
		would := try(r.Upkeep.PreviewUpkeep(ctx, ana)).orFail(t)
		r.tidied(t, ana)
		if got, want := r.contents(t, ana, memory.Query{}), []string{"User is Ana"}; !slices.Equal(got, want) {
			t.Errorf("facts: %q, want %q", got, want)
		}
		turns := r.contents(t, ana, memory.Query{Kinds: []memory.Kind{memory.KindTurn}})
		if want := []string{"a says 3", "b says 1", "b says 2", "b says 3"}; !slices.Equal(turns, want) {
			t.Errorf("turns: %q, want %q", turns, want)
		}
		if len(would) != 6 { // one of each conversation, then two facts and two turns
			t.Errorf("the dry run names %d that leave, want 6", len(would))
		}
		if again, err := r.Upkeep.PreviewUpkeep(ctx, ana); err != nil || len(again) > 0 {
			t.Errorf("afterwards: %d leave and %v, want none", len(again), err)
		}
	})
}

func TestTurnsThatWereNotLearnedFromStay(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.Opts.Learn.Upkeep = core.UpkeepOptions{UserLimit: 1}
		talk := exchange.IngestRequest{Conversation: "c", Learn: true}
		for i := range 3 {
			talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: fmt.Sprintf("It rains on day %d.", i)})
		}
		noError(t)(r.Exchange.Ingest(ctx, ana, talk))
		if would, err := r.Upkeep.PreviewUpkeep(ctx, ana); err != nil || len(would) > 0 {
			t.Errorf("before learning: %d leave and %v, want none", len(would), err)
		}
		noError(t)(r.work(ctx))
		if got := r.contents(t, ana, memory.Query{Kinds: []memory.Kind{memory.KindTurn}}); len(got) != 1 {
			t.Errorf("after learning: %q, want one turn", got)
		}
	})
}
