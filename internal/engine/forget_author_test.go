package engine

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// Who sent a chat is not known where its owner is named by a header: what its words ask
// to forget is told as decided by a rule.
func TestWhatAChatAsksToForgetIsDecidedByARule(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "The user is allergic to peanuts")
		noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "c", Learn: true, Messages: []exchange.Message{
			{Role: memory.RoleUser, Content: "Please forget that I am allergic to peanuts."},
		}}))
		r.settle(t)
		past := try(r.AllChanges(ctx, ana, memory.ChangeQuery{})).orFail(t)
		forgot := 0
		for _, c := range past {
			if c.Action != memory.ActionRetire {
				continue
			}
			forgot++
			if want := (memory.Author{Kind: memory.ByRule, Name: "rules"}); c.Author != want {
				t.Errorf("%s was forgotten by %+v, want %+v", c.After.Target(), c.Author, want)
			}
		}
		if forgot == 0 {
			t.Error("nothing was forgotten")
		}
	})
}
