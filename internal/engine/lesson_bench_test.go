package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// BenchmarkGiven guards a talk of so many turns, of which each was given a block of ten
// memories and every tenth says a line that is searched for.
func BenchmarkGiven(b *testing.B) {
	for _, count := range []int{100, 1000} {
		b.Run(fmt.Sprintf("turns=%d", count), func(b *testing.B) {
			r, ctx, say := newRig(b, stores["inmem"]), context.Background(), speaker(7)
			known, _, err := r.Curate.Remember(ctx, ana, curate.Note{Content: "User owns a boat called Marguerite"}, her)
			if err != nil {
				b.Fatal(err)
			}
			turns := make([]memory.Turn, count)
			for i := range turns {
				turns[i] = memory.Turn{ID: fmt.Sprint(i), Owner: ana, Role: memory.RoleUser, Content: say(12), Chain: fmt.Sprint("chain ", i), Version: known.Version + 1}
				if i%10 == 0 {
					turns[i].Content += "\n- " + known.Content
				}
				var block strings.Builder
				for range 10 {
					fmt.Fprintf(&block, "- 2026-05-03 %s\n", say(10))
				}
				r.Blocks.Put(core.PinnedBlock{Owner: ana, Chain: turns[i].Chain, Text: block.String()}, r.Blocks.Now())
			}
			b.ReportAllocs()
			for b.Loop() {
				said := learn.Guard(turns, learn.GuardOptions{Injected: r.Lessons.Given(ctx, memory.Scope{Owner: ana}, turns)})
				if len(said) != count || strings.Contains(said[0].Text, "Marguerite") {
					b.Fatalf("%d turns are left, the first says %q", len(said), said[0].Text)
				}
			}
		})
	}
}
