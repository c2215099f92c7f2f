package engine

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// BenchmarkRemember is a fact written by hand beside 10,000 turns and as many facts
// as it has written before.
func BenchmarkRemember(b *testing.B) {
	r := filled(b, 10_000)
	say := speaker(5)
	author := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := r.Curate.Remember(context.Background(), ana, curate.Note{Content: "User owns " + say(8)}, author); err != nil {
			b.Fatal(err)
		}
	}
}
