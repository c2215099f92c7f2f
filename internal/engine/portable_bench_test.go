package engine

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// Sizes of what is taken away and brought back.
const (
	benchFacts = 2000
	benchTalks = 20
	benchTurns = 100 // of each talk
)

// benchSource is a store with facts and turns of the length that people's have.
func benchSource(b *testing.B) *rig {
	b.Helper()
	ctx := context.Background()
	r := newRig(b, stores["sqlite"])
	var changes []memory.Change
	for i := range benchFacts {
		changes = append(changes, memtest.Add(memtest.Fact(ana, fmt.Sprintf("User keeps the key number %d under the flowerpot of house %d in street %d", i, i%97, i%13))))
	}
	if _, err := r.Store.Apply(ctx, ana, memtest.Run("facts"), changes...); err != nil {
		b.Fatal(err)
	}
	for c := range benchTalks {
		var said []string
		for i := range benchTurns {
			said = append(said, fmt.Sprintf("Message %d of talk %d, which says as much as messages of people say to an assistant of an evening, more or less", i, c))
		}
		if _, err := r.Store.Append(ctx, ana, memtest.Batch(ana, fmt.Sprint("c", c), 0, said...)); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

const benchMemories = benchFacts + benchTalks*benchTurns

func BenchmarkExport(b *testing.B) {
	r := benchSource(b)
	for _, format := range []portable.Format{portable.JSONL, portable.Markdown, portable.Zip} {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Transfer.Export(context.Background(), ana, transfer.ExportOptions{Format: format}, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*benchMemories/b.Elapsed().Seconds(), "memories/s")
		})
	}
}

func BenchmarkImport(b *testing.B) {
	r := benchSource(b)
	for _, format := range []portable.Format{portable.JSONL, portable.Markdown} {
		file := r.whole(b, ana, transfer.ExportOptions{Format: format})
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				to := newRig(b, stores["sqlite"])
				b.StartTimer()
				out, err := to.Transfer.Import(context.Background(), ana, transfer.ImportOptions{Format: format}, her, strings.NewReader(file))
				if err != nil || out.Added.Facts != benchFacts || out.Added.Turns != benchTalks*benchTurns {
					b.Fatal(out, err)
				}
			}
			b.ReportMetric(float64(b.N)*benchMemories/b.Elapsed().Seconds(), "memories/s")
		})
		b.Run(string(format)+"/again", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out, err := r.Transfer.Import(context.Background(), ana, transfer.ImportOptions{Format: format}, her, strings.NewReader(file)); err != nil || out.There.Facts != benchFacts {
					b.Fatal(out, err)
				}
			}
			b.ReportMetric(float64(b.N)*benchMemories/b.Elapsed().Seconds(), "memories/s")
		})
	}
}
