package embed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/text"
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

// plainly defines the embedding in its simplest form.
func plainly(s string) []float32 {
	counts := map[string]int{}
	var order []string
	text.EachWord(s, func(w string) {
		if text.Term(w) == "" {
			return
		}
		if counts[w] == 0 {
			order = append(order, w)
		}
		counts[w]++
	})
	v := make([]float32, lexicalDims)
	for _, w := range order {
		weight := float32(1 + math.Log(float64(counts[w])))
		addFeature(v, text.Term(w), weight)
		runes := append(append([]rune{'^'}, []rune(w)...), '$')
		for i := 0; i+4 <= len(runes); i++ {
			addFeature(v, string(runes[i:i+4]), weight*gramWeight)
		}
	}
	if !vector.Normalize(v) {
		addFeature(v, "", 1)
	}
	return v
}

func wantPlain(t *testing.T, s string) {
	t.Helper()
	if got := embed(t, s)[0]; !slices.Equal(got, plainly(s)) {
		t.Errorf("%q: another vector than by definition", s)
	}
}

func TestLexicalIsAsDefined(t *testing.T) {
	long := ""
	for i := range 3 * mapThreshold {
		long += fmt.Sprintf("word%d again word%d and ", i, i/2)
	}
	for _, s := range []string{"", "the of", sentence, "Ana's café wasn't open, Ana said", "猫が好き 猫", "\xff\xfe", long, long + sentence, "x"} {
		wantPlain(t, s)
	}
}

func FuzzLexicalIsAsDefined(f *testing.F) {
	f.Add(sentence)
	f.Fuzz(wantPlain)
}

const (
	sentence = "User told Ana that the trip to Lisbon with the children was moved from May to the second week of June"
)
