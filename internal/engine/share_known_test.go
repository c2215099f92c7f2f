package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/memory"
)

// TestWhatClosesAUserIsSeenAtOnce, whoever writes it here: a file of a vault may.
func TestWhatClosesAUserIsSeenAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "Ana is here") // from here on she is believed not to be closed
		mark := memory.ProfileEntry{Owner: ana, Key: core.ClosedKey, Value: r.Time().Format(time.RFC3339Nano), Status: memory.Active, UpdatedAt: r.Time()}
		apply := func(action memory.Action) {
			t.Helper()
			change := memory.Change{Action: action, After: memory.State{Profile: &mark}, Reason: "test", Author: her}
			noError(t)(r.Store.Apply(ctx, ana, memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: her}, change))
		}
		apply(memory.ActionAdd)
		if _, _, err := r.Curate.Remember(ctx, ana, curate.FactInput{Content: "Ana is still here"}, her); !errors.Is(err, memory.Gone) {
			t.Errorf("a note after that: %v, want it gone", err)
		}
		mark.Status = memory.Retired
		apply(memory.ActionRetire)
		r.note(t, ana, "Ana is back")
	})
}
