package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// counting counts how often it embeds one text. Its vectors have so many more numbers.
type counting struct {
	memtest.Embedder
	of    string
	times int
	more  int
}

func (c *counting) Dims() int { return memtest.Dims + c.more }

func (c *counting) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if slices.Contains(texts, c.of) {
		c.times++
	}
	vectors, err := c.Embedder.Embed(ctx, as, texts...)
	for i := range vectors {
		vectors[i] = append(vectors[i], make([]float32, c.more)...)
	}
	return vectors, err
}

// TestAContextIsEmbeddedOnceAModel: not for every candidate of every lesson; again after an edit,
// a restart, and for another model or another length.
func TestAContextIsEmbeddedOnceAModel(t *testing.T) {
	plain := newRig(t, stores["inmem"])
	by := &counting{of: "The shop sells lamps."}
	r := again(t, plain.Store, plain.clock, by)
	shop := must[memory.Context](t)(r.Curate.AddContext(t.Context(), ana, curate.ContextEdit{Content: ptr("The shop opens at nine.\nThe shop sells lamps.")}, her))
	hear := func(want int, text string) {
		t.Helper()
		before := len(r.facts(t, ana))
		must[exchange.Kept](t)(r.Exchange.Ingest(t.Context(), ana, exchange.Talk{Infer: true, Messages: []exchange.Said{{Role: memory.RoleUser, Content: text}}}))
		if err := r.work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if learned := len(r.facts(t, ana)) - before; learned != 2 || by.times != want {
			t.Errorf("%q: %d facts, and the context was embedded %d times; want 2 and %d", text, learned, by.times, want)
		}
	}
	hear(1, "I am allergic to peanuts. My sister is called Eva.")
	hear(1, "I live in Porto. I work as a nurse.")
	must[memory.Context](t)(r.Curate.EditContext(t.Context(), ana, shop.ID, curate.ContextEdit{Content: ptr("The shop opens at ten.\nThe shop sells lamps.")}, her))
	hear(2, "My brother is called Tom. I hate dill.")
	r = again(t, plain.Store, plain.clock, by)
	hear(3, "I play the cello. My boss is called Ida.")
	by = &counting{of: by.of, Embedder: memtest.Embedder{Name: "other"}}
	r.Embedder = by
	hear(1, "I am afraid of spiders. My dog is called Rex.")
	by.more = 8
	hear(2, "I collect stamps. My cat is called Ivo.")
}
