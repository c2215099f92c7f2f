package engine

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// blocked is a local embedder that embeds no document until it is released.
type blocked struct {
	alike
	release chan struct{}
}

func (b *blocked) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if as == memory.AsDocument {
		select {
		case <-b.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return b.alike.Embed(ctx, as, texts...)
}

// TestTheEndOfAChatWaitsForNoVector of a local model either: its turns are stored, found by
// their words, and get their vectors by a job that commits with them.
func TestTheEndOfAChatWaitsForNoVector(t *testing.T) {
	onEach(t, func(t *testing.T, plain *rig) {
		ctx := context.Background()
		slow := &blocked{alike: alike{name: "slow"}, release: make(chan struct{})}
		r := again(t, plain.Store, plain.clock, slow)
		x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, ChatID: "c1", Chat: decode(t, `[{"role":"user","content":"Which tea did we buy in Lisbon?"}]`)})
		x.Prepare(ctx)
		x.RecordQuestion(ctx)
		place := x.RecordAnswer(ctx, chatapi.Answer{Role: memory.RoleAssistant, Text: "Gorreana, from the Azores.", Digest: "d"})
		if place == (exchange.ContinuationPoint{}) || slow.documents.Load() != 0 {
			t.Fatalf("stored at %+v with %d vectors; want it stored without", place, slow.documents.Load())
		}
		if hits, byVector := r.compared(t, "Gorreana"); hits == 0 || byVector != 0 {
			t.Errorf("%d hits while vectors are missing, %d of them by vector; want some, by words", hits, byVector)
		}
		var queued int
		for _, j := range try(r.Store.Jobs(ctx, ana)).orFail(t) {
			if j.Kind == memory.JobEmbed {
				queued++
			}
		}
		if queued != 2 {
			t.Errorf("%d embed jobs are queued, want one with the question and one with the answer", queued)
		}

		close(slow.release)
		noError(t)(r.give(ctx))
		v := try(r.Vectors.Progress(ctx, ana)).orFail(t)
		if v.Lacking != 0 || v.Memories != 2 || slow.documents.Load() != 2 {
			t.Errorf("after the jobs %+v, %d texts embedded; want two vectors, each made once", v, slow.documents.Load())
		}
	})
}
