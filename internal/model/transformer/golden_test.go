package transformer

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/model/modeltest"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// golden is a line of other implementations' results: Hugging Face's tokenizers for ids and types,
// ONNX Runtime for vectors and scores. tools/golden-models generates them and the tiny models.
type golden struct {
	Text   string
	Pair   string
	IDs    []int32
	Types  []int32
	Vector []float32
	Score  float32
}

func goldens(t testing.TB, name string) []golden {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	if err := json.Unmarshal(b, &out); err != nil || len(out) == 0 {
		t.Fatalf("%s: %d lines, %v", name, len(out), err)
	}
	return out
}

func openTest(t testing.TB, name string) *Model {
	t.Helper()
	m, err := openFolder(folder(t, name), name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The tiny models by kind; the last of each kind are BERT with XLM-RoBERTa's tokenizer, or
// XLM-RoBERTa.
var (
	embedders     = []string{"mean", "cls", "multilingual", "xlmr"}
	crossEncoders = []string{"cross", "xlmr-cross"}
)

// onTiers runs the test on every tier of this machine.
func onTiers(t *testing.T, test func(t *testing.T)) {
	before := vector.Tier()
	defer vector.SetTier(before)
	for _, name := range vector.Tiers() {
		vector.SetTier(name)
		t.Run(name, test)
	}
}

func TestTokensAreThoseOfTheirAuthors(t *testing.T) {
	for _, name := range embedders {
		m := openTest(t, name)
		m.truncate = true
		for _, g := range goldens(t, name+"/golden.json") {
			got := m.appendSequences(nil, nil, m.tokenizer.tokenIDs(m.prefixes[memory.AsQuestion]+g.Text))
			if len(got) != 1 || !slices.Equal(got[0].ids, g.IDs) {
				t.Errorf("%s: %q: %v, want %v", name, g.Text, got[0].ids, g.IDs)
			}
		}
	}
	for _, name := range crossEncoders {
		m := openTest(t, name)
		for _, g := range goldens(t, name+"/golden.json") {
			got, first := m.pairSequence(m.tokenizer.tokenIDs(g.Text), m.tokenizer.tokenIDs(g.Pair)), slices.Index(g.Types, 1)
			if first < 0 {
				first = len(g.Types)
			}
			if !slices.Equal(got.ids, g.IDs) || got.firstTypeLen != first {
				t.Errorf("%s: %q with %q: %v of which %d are the first's, want %v of which %d are", name, g.Text, g.Pair, got.ids, got.firstTypeLen, g.IDs, first)
			}
		}
	}
	for _, name := range []string{"static", "unigram"} {
		m := openTest(t, name)
		for _, g := range goldens(t, name+"/golden.json") {
			if got := m.tokenizer.tokenIDs(g.Text); !slices.Equal(got, g.IDs) {
				t.Errorf("%s: %q: %v, want %v", name, g.Text, got, g.IDs)
			}
		}
	}
}

func TestEmbedderGivesWhatONNXRuntimeDoes(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		for _, name := range embedders {
			m := openTest(t, name)
			m.truncate = true
			var texts []string
			var want [][]float32
			for _, g := range goldens(t, name+"/golden.json") {
				if g.Vector != nil {
					texts, want = append(texts, g.Text), append(want, g.Vector)
				}
			}
			got, err := m.Embed(context.Background(), memory.AsQuestion, texts...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				checkVector(t, name+": "+texts[i], got[i], want[i])
			}
		}
	})
}

func TestStaticModelGivesTheMean(t *testing.T) {
	for _, name := range []string{"static", "unigram"} {
		m := openTest(t, name)
		for _, g := range goldens(t, name+"/golden.json") {
			got, err := m.Embed(context.Background(), memory.AsDocument, g.Text)
			if err != nil {
				t.Fatal(err)
			}
			checkVector(t, name+": "+g.Text, got[0], g.Vector)
		}
	}
}

func TestCrossEncoderGivesWhatONNXRuntimeDoes(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		for _, name := range crossEncoders {
			m := openTest(t, name)
			for _, g := range goldens(t, name+"/golden.json") {
				got, err := m.Rerank(context.Background(), g.Text, g.Pair)
				if err != nil {
					t.Fatal(err)
				}
				if off := math.Abs(float64(got[0] - g.Score)); !(off < 2e-6) {
					t.Errorf("%s: %q with %q: %v, want %v", name, g.Text, g.Pair, got[0], g.Score)
				}
			}
		}
	})
}

// worst is the greatest difference by another order of additions.
const worst = 2e-6

func checkVector(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for k := range want {
		if !(math.Abs(float64(got[k]-want[k])) < worst) {
			t.Fatalf("%s: value %d is %v, want %v", what, k, got[k], want[k])
		}
	}
}

// published returns the folder of a published model, or skips the test.
func published(t testing.TB, name string) string {
	t.Helper()
	dir, _ := os.Getwd()
	candidates := []string{os.Getenv("LOCI_SHARED")}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		candidates = append(candidates, filepath.Join(dir, "shared"))
	}
	for _, c := range candidates {
		if _, err := os.Stat(filepath.Join(c, name)); c != "" && err == nil {
			return filepath.Join(c, name)
		}
	}
	t.Skipf("no development data: set LOCI_SHARED to a folder with %s in it", name)
	return ""
}

// unpacked copies a folder and unpacks its archives.
func unpacked(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		name := filepath.Base(file)
		if filepath.Ext(name) == ".gz" {
			name = name[:len(name)-len(".gz")]
		}
		if err := os.WriteFile(filepath.Join(to, name), unzip(t, file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func unzip(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if filepath.Ext(file) == ".gz" {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPublishedTokenizers(t *testing.T) {
	dir := unpacked(t, published(t, "models/all-MiniLM-L6-v2-tokenizer-only"))
	whole, err := readTokenizer(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	words, err := readTokenizer(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	cross, err := readTokenizer(os.DirFS(unpacked(t, published(t, "models/ms-marco-MiniLM-L12-v2-tokenizer-only"))))
	if err != nil {
		t.Fatal(err)
	}
	for name, tokens := range map[string]*tokenizer{"tokenizer.json": whole, "vocab.txt": words, "cross-encoder": cross} {
		m := &Model{tokenizer: tokens, maxTokens: 512}
		for _, g := range goldens(t, "published.json") {
			if got := m.appendSequences(nil, nil, tokens.tokenIDs(g.Text))[0].ids; !slices.Equal(got, g.IDs) {
				t.Errorf("%s: %q: %v, want %v", name, g.Text, got, g.IDs)
			}
		}
	}
}

// TestReferenceTextsAreCutAsPublished covers many texts by a hash of their tokens.
func TestReferenceTextsAreCutAsPublished(t *testing.T) {
	tokens, err := readTokenizer(os.DirFS(unpacked(t, published(t, "models/all-MiniLM-L6-v2-tokenizer-only"))))
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{tokenizer: tokens, maxTokens: math.MaxInt32}
	hash := sha256.New()
	texts, _ := referenceTexts(t)
	for _, text := range texts[:len(texts)-100] {
		if err := binary.Write(hash, binary.LittleEndian, m.appendSequences(nil, nil, tokens.tokenIDs(text))[0].ids); err != nil {
			t.Fatal(err)
		}
	}
	var want struct{ SHA256 string }
	if err := json.Unmarshal(unzip(t, filepath.Join("testdata", "reference.json")), &want); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want.SHA256 {
		t.Errorf("the tokens hash to %s, want %s", got, want.SHA256)
	}
}

// referenceTexts returns 2,683 long and 100 short texts with all-MiniLM-L6-v2's vectors.
func referenceTexts(t testing.TB) (texts []string, vectors [][]float32) {
	dir := published(t, "data/minilm-reference")
	var long struct {
		Dim    int
		Chunks []string
	}
	if err := json.Unmarshal(unzip(t, filepath.Join(dir, "capjs_code_chunks.json.gz")), &long); err != nil {
		t.Fatal(err)
	}
	raw := unzip(t, filepath.Join(dir, "capjs_code_chunks.f32.bin.gz"))
	for i := range long.Chunks {
		v := make([]float32, long.Dim)
		if _, err := binary.Decode(raw[i*4*long.Dim:], binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, v)
	}
	var short []struct {
		Text   string
		Vector []float32 `json:"teacher_emb"`
	}
	if err := json.Unmarshal(unzip(t, filepath.Join(dir, "minilm_l6_v2_100texts.json.gz")), &short); err != nil {
		t.Fatal(err)
	}
	texts = long.Chunks
	for _, s := range short {
		texts, vectors = append(texts, s.Text), append(vectors, s.Vector)
	}
	return texts, vectors
}

// TestRealWeights embeds the short reference texts and every eighth long one with the model, if it
// is installed.
func TestRealWeights(t *testing.T) {
	dir := filepath.Join(modeltest.Dir(t, modeltest.MiniLM), modeltest.MiniLM)
	all, vectors := referenceTexts(t)
	var texts []string
	var want [][]float32
	for i, text := range all {
		if i%8 == 0 || i >= len(all)-100 {
			texts, want = append(texts, text), append(want, vectors[i])
		}
	}
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.truncate, m.maxTokens = true, 512 // as those who made the vectors did
	got, err := m.Embed(context.Background(), memory.AsDocument, texts...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		if cosine := vector.Dot(got[i], want[i]); cosine < 0.999 {
			t.Errorf("text %d of %d tokens: cosine %v", i, len(m.tokenizer.tokenIDs(texts[i])), cosine)
		}
	}
}

// TestRealWeightsGiveWhatONNXRuntimeDoes compares each value of some texts' vectors, from an empty
// text to one over the model's length, with another implementation.
func TestRealWeightsGiveWhatONNXRuntimeDoes(t *testing.T) {
	m, err := Open(filepath.Join(modeltest.Dir(t, modeltest.MiniLM), modeltest.MiniLM))
	if err != nil {
		t.Fatal(err)
	}
	m.truncate = true
	var most float64
	for _, g := range goldens(t, "minilm.json") {
		if got := m.appendSequences(nil, nil, m.tokenizer.tokenIDs(g.Text)); !slices.Equal(got[0].ids, g.IDs) {
			t.Errorf("%q: %v, want %v", g.Text, got[0].ids, g.IDs)
		}
		v := embed(t, m, g.Text)[0]
		checkVector(t, g.Text, v, g.Vector)
		for k := range v {
			most = max(most, math.Abs(float64(v[k]-g.Vector[k])))
		}
	}
	t.Logf("a value is off by %.1e at most", most)
}

// withLargeTables treats all vocabularies as large during the test.
func withLargeTables(t testing.TB) {
	before := largeTableRows
	largeTableRows = 1
	t.Cleanup(func() { largeTableRows = before })
}

// Random weights use all of their range, so 8 bits change their rows by some thousandths.
func TestLargeVocabulariesInEightBits(t *testing.T) {
	withLargeTables(t)
	for _, name := range embedders {
		m := openTest(t, name)
		m.truncate = true
		for _, g := range goldens(t, name+"/golden.json") {
			if g.Vector == nil {
				continue
			}
			got, err := m.Embed(context.Background(), memory.AsQuestion, g.Text)
			if err != nil {
				t.Fatal(err)
			}
			if cosine := vector.Dot(got[0], g.Vector); !(cosine > 0.9995) {
				t.Errorf("%s: %q: cosine %v", name, g.Text, cosine)
			}
		}
	}
}

// TestRealWeightsInEightBits compares a real model with itself.
func TestRealWeightsInEightBits(t *testing.T) {
	dir := filepath.Join(modeltest.Dir(t, modeltest.MiniLM), modeltest.MiniLM)
	texts, _ := referenceTexts(t)
	texts = texts[len(texts)-100:]
	exact, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := embed(t, exact, texts...)
	withLargeTables(t)
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	least, sum := float32(1), float32(0)
	for i, got := range embed(t, m, texts...) {
		cosine := vector.Dot(got, want[i])
		least, sum = min(least, cosine), sum+cosine
	}
	if mean := sum / float32(len(texts)); !(least > 0.9998 && mean > 0.99995) {
		t.Errorf("cosine %v at least and %v on average", least, mean)
	}
}

// TestModel2vecFixtures opens the fixtures of model2vec's own tests and expects the same results.
func TestModel2vecFixtures(t *testing.T) {
	root := published(t, "models/model2vec-fixtures")
	tokenizer := unzip(t, filepath.Join(root, "float32", "tokenizer.json.gz"))
	long := strings.TrimSpace(strings.Repeat("hello ", 512)) // they cut the text there
	for folder, cases := range map[string]map[string]string{
		"float32":               {"hello world": "embeddings_short.json", long: "embeddings_long.json"},
		"float16":               {"hello world": "embeddings_short.json", long: "embeddings_long.json"},
		"int8":                  {},
		"sentence-transformers": {"hello world": "embeddings_short.json"},
		"vocab-quantized":       {strings.TrimSpace(strings.Repeat("hello ", 1000)): "embeddings_vocab_quantized.json"},
	} {
		dir := unpacked(t, filepath.Join(root, folder))
		if _, err := os.Stat(filepath.Join(dir, "tokenizer.json")); err != nil {
			if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokenizer, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Open(dir)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		for text, file := range cases {
			var want [][]float32
			if err := json.Unmarshal(unzip(t, filepath.Join(root, file)), &want); err != nil {
				t.Fatal(err)
			}
			got, err := m.Embed(context.Background(), memory.AsDocument, text)
			if err != nil {
				t.Fatal(err)
			}
			if cosine := vector.Dot(got[0], want[0]); cosine < 0.9999 {
				t.Errorf("%s: %s: %v, want %v", folder, file, got[0], want[0])
			}
		}
	}
}
