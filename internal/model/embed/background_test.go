package embed

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// leaning gives every text a common component and one of its own.
type leaning struct {
	memtest.Embedder
	lean float64
}

func (l *leaning) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if l.Err != nil {
		return nil, l.Err
	}
	out := make([][]float32, len(texts))
	for i := range texts {
		v := make([]float32, 200)
		v[0] = float32(math.Sqrt(l.lean))
		at := i + 1
		if as == memory.AsDocument {
			at += 100
		}
		v[at] = float32(math.Sqrt(1 - l.lean))
		out[i] = v
	}
	return out, ctx.Err()
}

func TestTheBackgroundIsWhereUnrelatedTextsLie(t *testing.T) {
	for _, lean := range []float64{0, 0.1, 0.7, 1} {
		within := &leaning{lean: lean}
		within.Err = errors.New("away")
		c := NewCache(within)
		if err := c.Measure(context.Background()); err == nil || c.Background() != 0 {
			t.Errorf("away: %v, %v; want an error, and 0", err, c.Background())
		}
		within.Err = nil
		if err := c.Measure(context.Background()); err != nil || math.Abs(c.Background()-lean) > 1e-6 {
			t.Errorf("%v, %v; want %v", c.Background(), err, lean)
		}
		within.Err = errors.New("away")
		if err := c.Measure(context.Background()); err != nil {
			t.Errorf("measured again: %v, want what is known", err)
		}
	}
}
