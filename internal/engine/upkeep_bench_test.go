package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// BenchmarkTidyAfterARun is the upkeep that follows a run of learning which added one
// fact to 10,000, where there may be so many and no more.
func BenchmarkTidyAfterARun(b *testing.B) {
	for name, most := range map[string]int{"room": 1_000_000, "full": 10_000} {
		b.Run(name, func(b *testing.B) {
			r, ctx := filled(b, 10_000), context.Background()
			r.Opts.Learn.Upkeep = core.Upkeep{User: most, Conversation: 1000}
			n := 0
			for b.Loop() {
				n++
				f, err := r.Curate.Noted(ana, curate.Note{Content: fmt.Sprintf("User counts to %d", n)})
				if err != nil {
					b.Fatal(err)
				}
				f.Source, f.Trust = memory.Extracted, memory.TrustUser
				run := memory.Run{ID: core.NewID(), Kind: "learn"}
				run.Jobs = []memory.Job{{ID: "upkeep-" + run.ID, Owner: ana, Kind: memory.JobUpkeep, Conversation: "c0"}}
				if _, err := r.Store.Apply(ctx, ana, run, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &f}}); err != nil {
					b.Fatal(err)
				}
				if err := r.work(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
