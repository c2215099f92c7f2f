package embed

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

func embed(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	out, err := Lexical{}.Embed(context.Background(), memory.AsDocument, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLexicalIsUnitAndDeterministic(t *testing.T) {
	texts := []string{"User lives in Lisbon", "", "the of", "猫が好き", "\xff\xfe", "a b c d e f g"}
	first, again := embed(t, texts...), embed(t, texts...)
	for i, v := range first {
		if len(v) != (Lexical{}).Dims() {
			t.Errorf("%q: %d dims", texts[i], len(v))
		}
		if n := vector.Dot(v, v); math.Abs(float64(n)-1) > 1e-5 {
			t.Errorf("%q: squared length %v, want 1", texts[i], n)
		}
		if !slices.Equal(v, again[i]) {
			t.Errorf("%q: another vector the second time", texts[i])
		}
	}
}

func TestLexicalIsNearForSharedWords(t *testing.T) {
	v := embed(t, "Which city does the user live in?", "User lives in the city of Lisbon", "Photosynthesis needs sunlight", "User's photosynthetic experiment")
	if near, far := vector.Dot(v[0], v[1]), vector.Dot(v[0], v[2]); near < far+0.3 {
		t.Errorf("shared words give %v, none %v", near, far)
	}
	if part := vector.Dot(v[2], v[3]); part < 0.1 {
		t.Errorf("shared parts of a word give %v, want some", part)
	}
}

func TestLexicalStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Lexical{}).Embed(ctx, memory.AsQuestion, "x"); err == nil {
		t.Error("a cancelled context embeds")
	}
}

func BenchmarkLexical(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		lexical("User told Ana that the trip to Lisbon with the children was moved from May to the second week of June")
	}
}
