package transformer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/loci-memory/loci/memory"
)

// shape is a published model's architecture with random weights, and ONNX Runtime's results: see
// testdata/shapes.mjs.
type shape struct {
	Name    string
	Config  json.RawMessage
	Pooling string
	Seed    uint32
	Spread  float64
	Cases   []struct {
		A, B   []int // words by their numbers; B of a cross-encoder
		Vector []float32
		Logit  float64
	}
}

// chance is the random generator of tools/golden-models/random.mjs: mulberry32.
type chance uint32

func (c *chance) next() float64 {
	*c += 0x6d2b79f5
	s := uint32(*c)
	t := (s ^ s>>15) * (1 | s)
	t = (t + (t^t>>7)*(61|t)) ^ t
	return float64(t^t>>14) / 4294967296
}

// folder returns the model's files, with a vocabulary in which word 1234 is "w1234".
func (s *shape) folder(t testing.TB) fstest.MapFS {
	t.Helper()
	var c config
	if err := json.Unmarshal(s.Config, &c); err != nil {
		t.Fatal(err)
	}
	next, cross, prefix := chance(s.Seed), s.Pooling == "cross", ""
	header, values := map[string]any{}, []byte(nil)
	fill := func(at, by float64, name string, shape ...int) {
		from, n := len(values), 1
		for _, d := range shape {
			n *= d
		}
		for range n {
			a := next.next()
			values = binary.LittleEndian.AppendUint32(values, math.Float32bits(float32(at+by*(a+next.next()-1))))
		}
		header[prefix+name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, len(values)}}
	}
	dense := func(name string, in, out int) {
		fill(0, s.Spread, name+".weight", out, in)
		fill(0, s.Spread, name+".bias", out)
	}
	norm := func(name string) {
		fill(1, 0.3, name+".weight", c.HiddenSize)
		fill(0, s.Spread, name+".bias", c.HiddenSize)
	}
	if cross {
		prefix = "bert."
	}
	fill(0, s.Spread, "embeddings.word_embeddings.weight", c.VocabularySize, c.HiddenSize)
	fill(0, s.Spread, "embeddings.position_embeddings.weight", c.MaxPositions, c.HiddenSize)
	fill(0, s.Spread, "embeddings.token_type_embeddings.weight", c.TokenTypes, c.HiddenSize)
	norm("embeddings.LayerNorm")
	for i := range c.LayerCount {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			dense(at+"attention.self."+part, c.HiddenSize, c.HiddenSize)
		}
		dense(at+"attention.output.dense", c.HiddenSize, c.HiddenSize)
		norm(at + "attention.output.LayerNorm")
		dense(at+"intermediate.dense", c.HiddenSize, c.InnerSize)
		dense(at+"output.dense", c.InnerSize, c.HiddenSize)
		norm(at + "output.LayerNorm")
	}
	if cross {
		dense("pooler.dense", c.HiddenSize, c.HiddenSize)
		prefix = ""
		dense("classifier", c.HiddenSize, 1)
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	for id := len(words); id < c.VocabularySize; id++ {
		words = append(words, fmt.Sprint("w", id))
	}
	return fstest.MapFS{
		weightsFile:             {Data: bytes.Join([][]byte{binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, values}, nil)},
		"config.json":           {Data: s.Config},
		"vocab.txt":             {Data: []byte(strings.Join(words, "\n") + "\n")},
		"tokenizer_config.json": {Data: []byte(`{"do_lower_case":true}`)},
		"modules.json":          {Data: []byte(`[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`)},
		"1_Pooling/config.json": {Data: fmt.Appendf(nil, `{"word_embedding_dimension":%d,"pooling_mode_cls_token":%t,"pooling_mode_mean_tokens":%t}`,
			c.HiddenSize, s.Pooling == "cls", s.Pooling == "mean")},
	}
}

func wordsOf(ids []int) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint("w", id)
	}
	return strings.Join(words, " ")
}

// Twelve layers of 384 accumulate more error than the tiny models do.
func TestPublishedShapesGiveWhatONNXRuntimeDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 300 MB of weights; run without -short")
	}
	file, err := os.ReadFile(filepath.Join("testdata", "shapes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var shapes []shape
	if err := json.Unmarshal(file, &shapes); err != nil || len(shapes) != 3 {
		t.Fatalf("%d shapes, %v; want 3", len(shapes), err)
	}
	for _, s := range shapes[:shapesTried] {
		m, err := openFolder(s.folder(t), "")
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		off := 0.0
		for _, c := range s.Cases {
			if s.Pooling == "cross" {
				got, err := m.Rerank(context.Background(), wordsOf(c.A), wordsOf(c.B))
				if err != nil {
					t.Fatal(err)
				}
				off = max(off, math.Abs(float64(got[0])-1/(1+math.Exp(-c.Logit))))
				continue
			}
			got, err := m.Embed(context.Background(), memory.AsDocument, wordsOf(c.A))
			if err != nil {
				t.Fatal(err)
			}
			if len(got[0]) != len(c.Vector) {
				t.Fatalf("%s: %d values, want %d", s.Name, len(got[0]), len(c.Vector))
			}
			for k, want := range c.Vector {
				off = max(off, math.Abs(float64(got[0][k]-want)))
			}
		}
		t.Logf("%s: off by %.1e at most", s.Name, off)
		if !(off < worst) || len(s.Cases) < 4 {
			t.Errorf("%s: off by %v in %d cases, want less than %v", s.Name, off, len(s.Cases), worst)
		}
	}
}
