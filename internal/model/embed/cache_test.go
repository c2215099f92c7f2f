package embed

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestATextIsNotEmbeddedAgain(t *testing.T) {
	ctx := context.Background()
	within := &memtest.Embedder{}
	c := NewCache(within)
	c.vectors = recent.New[cacheKey, []float32](3)
	ask := func(as memory.EmbedAs, texts ...string) {
		t.Helper()
		got, err := c.Embed(ctx, as, texts...)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if want := memtest.Embed(text); fmt.Sprint(got[i]) != fmt.Sprint(want) {
				t.Errorf("%q: %v, want %v", text, got[i], want)
			}
		}
	}
	for _, step := range []struct {
		as    memory.EmbedAs
		texts []string
		count int // texts embedded so far
	}{
		{memory.AsQuestion, []string{"a"}, 1},
		{memory.AsQuestion, []string{"a"}, 1},
		{memory.AsDocument, []string{"a"}, 2}, // may be embedded differently
		{memory.AsDocument, []string{"a"}, 2},
		{memory.AsQuestion, []string{"b"}, 3},
		{memory.AsQuestion, []string{"c"}, 4}, // a was asked the longest ago
		{memory.AsDocument, []string{"a", "d"}, 5},
		{memory.AsQuestion, []string{"a", "c"}, 6},
		{memory.AsDocument, make([]string, maxCachedBatch+1), 6 + maxCachedBatch + 1},
		{memory.AsDocument, []string{""}, 6 + maxCachedBatch + 2},
	} {
		if was := within.EmbeddedTextCount(); len(step.texts) == 1 && c.Knows(step.as, step.texts[0]) != (was == step.count) {
			t.Errorf("%s %q: remembered is %v, want %v", step.as, step.texts, was != step.count, was == step.count)
		}
		if ask(step.as, step.texts...); within.EmbeddedTextCount() != step.count {
			t.Errorf("%s %q: %d texts embedded so far, want %d", step.as, step.texts, within.EmbeddedTextCount(), step.count)
		}
	}
}

func TestAFailureIsNotRemembered(t *testing.T) {
	within := &memtest.Embedder{Err: errors.New("away")}
	c := NewCache(within)
	if _, err := c.Embed(context.Background(), memory.AsQuestion, "a"); err == nil {
		t.Fatal("no error")
	}
	within.Err = nil
	if _, err := c.Embed(context.Background(), memory.AsQuestion, "a"); err != nil {
		t.Error(err)
	}
}

func TestACacheIsWhatIsWithin(t *testing.T) {
	if c := NewCache(Lexical{}); !c.OfWords() || c.Remote() || c.Fingerprint() != (Lexical{}).Fingerprint() {
		t.Errorf("of words %v, remote %v, %s", c.OfWords(), c.Remote(), c.Fingerprint())
	}
	if c := NewCache(&memtest.Embedder{}); c.OfWords() || c.Remote() {
		t.Errorf("of words %v, remote %v", c.OfWords(), c.Remote())
	}
}
