package engine

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// TestRejudgeFreesWhatNothingSpeaksAgainst: of what waits for want of proof, what its turn
// does not contradict becomes active and replaces what it was to replace; a dry run changes
// nothing, and undo takes all of it back.
func TestRejudgeFreesWhatNothingSpeaksAgainst(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.Opts.Rules = false
		kept, err := r.Exchange.Ingest(ctx, ana, exchange.Talk{Conversation: "c", Infer: true, Messages: []exchange.Said{{Role: memory.RoleUser, Content: "nvm quit the bakery today!! my bf's veggie btw"}}})
		if err != nil {
			t.Fatal(err)
		}
		turn := kept.Turns[0]
		add := func(content string, status memory.Status, reason, instead string) memory.Fact {
			r.clock.Advance(1e9)
			f := memory.Fact{
				ID: core.NewID(), Scope: memory.Scope{Owner: ana}, Content: content, Subject: "user", Status: status, Confidence: 1, Source: memory.Extracted, Trust: memory.TrustUser,
				Provenance: memory.Provenance{Conversation: "c", Turns: []string{turn}}, ObservedAt: r.Time(), CreatedAt: r.Time(), UpdatedAt: r.Time(), Hash: text.Hash(content),
			}
			if _, err := r.Store.Apply(ctx, ana, memory.Run{ID: core.NewID(), Kind: "learn"}, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &f}, OldID: instead, NewID: f.ID, Reason: reason}); err != nil {
				t.Fatal(err)
			}
			return f
		}
		const unproven = "the turn does not say so"
		old := add("User works weekends at a bakery", memory.Active, "new", "")
		quit := add("User quit the bakery", memory.Pending, unproven, old.ID)
		veggie := add("User's boyfriend is vegetarian", memory.Pending, unproven, "")
		invented := add("User's boyfriend is called Otto", memory.Pending, unproven, "")
		reviewed := add("User quit a bakery for good", memory.Pending, "the category work is reviewed", "")
		is := func(f memory.Fact) memory.Status {
			t.Helper()
			m, err := r.Get(ctx, ana, f.ID)
			if err != nil {
				t.Fatal(err)
			}
			return m.Status()
		}
		would, receipt, err := r.Lessons.Rejudge(ctx, ana, lessons.RejudgeRequest{DryRun: true}, her)
		if err != nil || len(would) != 2 || receipt.Run != "" || is(quit) != memory.Pending || is(old) != memory.Active {
			t.Fatalf("dry run: %+v, %+v, %v; want two facts and no change", would, receipt, err)
		}
		done, receipt, err := r.Lessons.Rejudge(ctx, ana, lessons.RejudgeRequest{}, her)
		if err != nil || len(done) != 2 {
			t.Fatalf("%+v, %v; want two facts", done, err)
		}
		for f, want := range map[*memory.Fact]memory.Status{&old: memory.Superseded, &quit: memory.Active, &veggie: memory.Active, &invented: memory.Pending, &reviewed: memory.Pending} {
			if got := is(*f); got != want {
				t.Errorf("%q is %s, want %s", f.Content, got, want)
			}
		}
		if _, err := r.Curate.Undo(ctx, ana, curate.UndoRequest{Run: receipt.Run}, her); err != nil {
			t.Fatal(err)
		}
		for f, want := range map[*memory.Fact]memory.Status{&old: memory.Active, &quit: memory.Pending, &veggie: memory.Pending} {
			if got := is(*f); got != want {
				t.Errorf("undone: %q is %s, want %s", f.Content, got, want)
			}
		}
	})
}
