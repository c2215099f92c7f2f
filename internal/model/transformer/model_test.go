package transformer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func embed(t testing.TB, m *Model, texts ...string) [][]float32 {
	t.Helper()
	got, err := m.Embed(context.Background(), memory.AsDocument, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEmbedKeepsOrderAndCompany(t *testing.T) {
	for _, name := range append([]string{"static", "unigram"}, embedders...) {
		m := openTest(t, name)
		var texts []string
		for i := range 60 {
			texts = append(texts, strings.Repeat("the quick brown fox ", i%17)+fmt.Sprint(i))
		}
		together := embed(t, m, texts...)
		if len(together) != len(texts) {
			t.Fatalf("%s: %d vectors of %d texts", name, len(together), len(texts))
		}
		for i, text := range texts {
			checkVector(t, name+": "+text, together[i], embed(t, m, text)[0])
			if length := vector.Dot(together[i], together[i]); math.Abs(float64(length-1)) > 1e-5 {
				t.Errorf("%s: %q has length %v", name, text, length)
			}
		}
	}
}

func TestEmbedOfNothing(t *testing.T) {
	for _, name := range []string{"mean", "static", "unigram"} {
		m := openTest(t, name)
		if got := embed(t, m); len(got) != 0 {
			t.Errorf("%s: no texts give %v", name, got)
		}
		if got := embed(t, m, "", "\x00")[0]; len(got) != m.Dims() || math.Abs(float64(vector.Dot(got, got)-1)) > 1e-5 {
			t.Errorf("%s: the empty text gives %v", name, got)
		}
	}
	if got, err := openTest(t, "cross").Rerank(context.Background(), "anything"); err != nil || len(got) != 0 {
		t.Errorf("no texts rank %v, %v", got, err)
	}
}

func TestLongTextsAreTheMeanOfTheirParts(t *testing.T) {
	m := openTest(t, "mean")
	words := make([]string, 100)
	for i := range words {
		words[i] = []string{"hello", "world", "dog", "fox", "the"}[i%5]
	}
	parts := m.appendSequences(nil, nil, m.tokenizer.tokenIDs(strings.Join(words, " ")))
	var sizes []int
	for _, p := range parts {
		sizes = append(sizes, len(p.ids))
	}
	if !slices.Equal(sizes, []int{36, 35, 35}) { // 100 tokens, and two around each part
		t.Fatalf("parts of %v tokens", sizes)
	}
	want := make([]float32, m.Dims())
	for i, ends := range [][2]int{{0, 34}, {34, 67}, {67, 100}} {
		part := words[ends[0]:ends[1]]
		for k, x := range embed(t, m, strings.Join(part, " "))[0] {
			want[k] += x * float32(sizes[i])
		}
	}
	checkVector(t, "a long text", embed(t, m, strings.Join(words, " "))[0], normalized(want))
}

// TestEachPartOfALongTextHasThePrefix, which the model expects before every text.
func TestEachPartOfALongTextHasThePrefix(t *testing.T) {
	m := openTest(t, "mean")
	prefix, text := m.tokenizer.tokenIDs("the dog "), m.tokenizer.tokenIDs("the dog "+strings.Repeat("hello world ", 50))
	n := 0
	for _, p := range m.appendSequences(nil, prefix, text) {
		if len(p.ids) > m.maxTokens || !slices.Equal(p.ids[1:1+len(prefix)], prefix) {
			t.Errorf("a part of %d tokens, the longest is %d: %v", len(p.ids), m.maxTokens, p.ids)
		}
		n += len(p.ids) - 2 - len(prefix)
	}
	if n != len(text)-len(prefix) {
		t.Errorf("the parts have %d tokens of the text, want %d", n, len(text)-len(prefix))
	}
}

// TestAWindowIsEmbeddedTogether compares with cut.
func TestAWindowIsEmbeddedTogether(t *testing.T) {
	m := openTest(t, "mean")
	most, count := m.Window()
	text := "hello"
	for count(text+" hello") <= most {
		text += " hello"
	}
	if n := len(m.appendSequences(nil, nil, m.tokenizer.tokenIDs(text))); count(text) != most || n != 1 {
		t.Errorf("a text of %d tokens, the window being %d, is embedded in %d parts", count(text), most, n)
	}
	if n := len(m.appendSequences(nil, nil, m.tokenizer.tokenIDs(text+" hello"))); n != 2 {
		t.Errorf("one token more is embedded in %d parts, want 2", n)
	}
}

func TestQuestionsHaveTheirPrefix(t *testing.T) {
	m := openTest(t, "cls")
	question, err := m.Embed(context.Background(), memory.AsQuestion, "hello")
	if err != nil {
		t.Fatal(err)
	}
	checkVector(t, "a question", question[0], embed(t, m, "the text: hello")[0])
	if slices.Equal(question[0], embed(t, m, "hello")[0]) {
		t.Error("a question is embedded as a document")
	}
}

func TestPrefixesOfFamiliesThatDoNotSayThem(t *testing.T) {
	const bge = "Represent this sentence for searching relevant passages: "
	for name, want := range map[string][2]string{
		"multilingual-e5-small":                   {"query: ", "passage: "},
		"intfloat/e5-base-v2":                     {"query: ", "passage: "},
		"multilingual-e5-large-instruct":          {},
		"BAAI/bge-small-en-v1.5":                  {bge},
		"bge-small-zh-v1.5":                       {"为这个句子生成表示以用于检索相关文章："},
		"BAAI/bge-large-zh-v1.5":                  {"为这个句子生成表示以用于检索相关文章："},
		"bge-large:latest":                        {bge},
		"bge-m3":                                  {},
		"nomic-embed-text:v1.5":                   {"search_query: ", "search_document: "},
		"nomic-embed-code":                        {},
		"mxbai-embed-large":                       {bge},
		"mxbai-rerank-large-v1":                   {},
		"snowflake-arctic-embed:110m":             {bge},
		"snowflake-arctic-embed2":                 {"query: "},
		"Snowflake/snowflake-arctic-embed-l-v2.0": {"query: "},
		"google/embeddinggemma-300m":              {"task: search result | query: ", "title: none | text: "},
		"qwen3-embedding:0.6b":                    {"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"},
		"text-embedding-3-small":                  {},
		"bge-reranker-base":                       {},
		"potion-base-8M":                          {},
		"all-MiniLM-L6-v2":                        {},
		"paraphrase-multilingual-MiniLM":          {},
		"somebody/fine5-tuned-bengali-en":         {},
	} {
		if question, document := Prefixes(name); question != want[0] || document != want[1] {
			t.Errorf("%s: %q and %q, want %q", name, question, document, want)
		}
	}
}

// The folder's own configuration takes precedence over its name, then the repository or copy, then
// config.json.
func TestPrefixesOfAFamilyAreUsed(t *testing.T) {
	dir := folder(t, "mean")
	with := func(file, content string) fstest.MapFS {
		out := maps.Clone(dir)
		out[file] = &fstest.MapFile{Data: []byte(content)}
		return out
	}
	plain, err := openFolder(dir, "mine")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir                        fstest.MapFS
		folder, question, document string
	}{
		"by folder":     {dir, "multilingual-e5-small", "query: ", "passage: "},
		"by repository": {with("loci.json", `{"repository":"intfloat/e5-small"}`), "mine", "query: ", "passage: "},
		"by copy":       {with("loci.json", `{"source":"C:\\models\\bge-small-en-v1.5"}`), "mine", "Represent this sentence for searching relevant passages: ", ""},
		"by config":     {changed(t, dir, "config.json", "intfloat/e5-small", "_name_or_path"), "mine", "query: ", "passage: "},
		"said":          {with("config_sentence_transformers.json", `{"prompts":{"query":"the ","document":""}}`), "e5-small", "the ", ""},
		"empty":         {with("config_sentence_transformers.json", `{"prompts":{"query":"","document":""}}`), "e5-small", "query: ", "passage: "},
	} {
		m, err := openFolder(c.dir, c.folder)
		if err != nil {
			t.Fatal(name, err)
		}
		question, err := m.Embed(context.Background(), memory.AsQuestion, "hello")
		if err != nil {
			t.Fatal(err)
		}
		checkVector(t, name+": a question", question[0], embed(t, plain, c.question+"hello")[0])
		checkVector(t, name+": a document", embed(t, m, "hello")[0], embed(t, plain, c.document+"hello")[0])
		if m.Fingerprint() == plain.Fingerprint() {
			t.Errorf("%s: the same fingerprint as without prefixes", name)
		}
	}
}

func TestFingerprintFollowsWhatVectorsDependOn(t *testing.T) {
	dir := folder(t, "cls")
	seen := map[string]string{}
	weights := folder(t, "cls")
	weights[weightsFile].Data[len(weights[weightsFile].Data)-300] ^= 1
	for name, dir := range map[string]fstest.MapFS{
		"as it is": dir,
		"weights":  weights,
		"prefix":   changed(t, dir, "config_sentence_transformers.json", "q: ", "prompts", "query"),
		"pooling":  changed(t, changed(t, dir, "1_Pooling/config.json", false, "pooling_mode_cls_token"), "1_Pooling/config.json", true, "pooling_mode_mean_tokens"),
		"accents":  changed(t, dir, "tokenizer_config.json", true, "strip_accents"),
		"length":   changed(t, dir, "tokenizer_config.json", 20, "model_max_length"),
	} {
		m, err := openFolder(dir, "")
		if err != nil {
			t.Fatal(name, err)
		}
		if other, ok := seen[m.Fingerprint()]; ok {
			t.Errorf("%s and %s have the fingerprint %s", name, other, m.Fingerprint())
		}
		seen[m.Fingerprint()] = name
	}
	again, err := openFolder(dir, "")
	if err != nil || seen[again.Fingerprint()] != "as it is" {
		t.Errorf("the same folder has another fingerprint, %s, %v", again.Fingerprint(), err)
	}
}

func TestEachModelDoesWhatItCan(t *testing.T) {
	cross, mean := openTest(t, "cross"), openTest(t, "mean")
	if _, err := cross.Embed(context.Background(), memory.AsDocument, "a"); !errors.Is(err, memory.Invalid) || !cross.IsCrossEncoder() {
		t.Errorf("a cross-encoder embeds: %v", err)
	}
	if _, err := mean.Rerank(context.Background(), "a", "b"); !errors.Is(err, memory.Invalid) || mean.IsCrossEncoder() {
		t.Errorf("an embedder ranks: %v", err)
	}
}

// endsAfter is a context that ends after so many checks.
type endsAfter struct {
	context.Context
	asked chan struct{}
}

func (c endsAfter) Err() error {
	select {
	case <-c.asked:
		return nil
	default:
		return context.Canceled
	}
}

func TestEndedContextsEndTheWork(t *testing.T) {
	texts := slices.Repeat([]string{"the quick brown fox"}, 200)
	for _, name := range []string{"mean", "cross", "static"} {
		m := openTest(t, name)
		for n := range 40 {
			ctx := endsAfter{context.Background(), make(chan struct{}, n)}
			for range n {
				ctx.asked <- struct{}{}
			}
			var err error
			if m.IsCrossEncoder() {
				_, err = m.Rerank(ctx, "dog", texts...)
			} else if name == "static" {
				_, err = m.Embed(ctx, memory.AsDocument, slices.Repeat(texts, 10)...)
			} else {
				_, err = m.Embed(ctx, memory.AsDocument, texts...)
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: after %d questions: %v", name, n, err)
			}
		}
		if len(m.workspaces) != cap(m.workspaces) {
			t.Errorf("%s: %d of %d are free after the end", name, len(m.workspaces), cap(m.workspaces))
		}
	}
}

// Whenever the context ends, all members of a team stop, and the next call is not affected.
func TestATeamEndsWithItsContextAndServesTheNext(t *testing.T) {
	for _, text := range []string{"the quick brown fox jumps over the lazy dog", strings.Repeat("dog ", 46)} { // of few rows, and of many
		m := openTest(t, "mean")
		want := embed(t, m.only(1), text)
		m.only(2)
		ended := 0
		for n := 0; ; n++ {
			ctx := endsAfter{context.Background(), make(chan struct{}, n)}
			for range n {
				ctx.asked <- struct{}{}
			}
			got, err := m.Embed(ctx, memory.AsDocument, text)
			if len(m.workspaces) != cap(m.workspaces) {
				t.Fatalf("%d of %d are free after the end", len(m.workspaces), cap(m.workspaces))
			}
			if err == nil {
				if !slices.Equal(got[0], want[0]) {
					t.Errorf("what came after those that ended is another vector")
				}
				break
			}
			if ended++; !errors.Is(err, context.Canceled) {
				t.Fatalf("after %d questions: %v", n, err)
			}
		}
		if ended < 1+len(m.encoder.layers) {
			t.Errorf("it asked %d times whether anybody waits, want at least once a layer of %d", ended, len(m.encoder.layers))
		}
	}
}

func TestWaitingForAProcessorEndsWithTheContext(t *testing.T) {
	m := openTest(t, "mean")
	for range cap(m.workspaces) {
		<-m.workspaces
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := m.Embed(ctx, memory.AsDocument, "hello"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while all are busy: %v", err)
	}
}

func TestManyAtOnceGetTheSame(t *testing.T) {
	m, cross := openTest(t, "mean"), openTest(t, "cross")
	texts := []string{"hello world", "the lazy dog", strings.Repeat("fox ", 90)}
	want := embed(t, m, texts...)
	ranks, err := cross.Rerank(context.Background(), "dog", texts...)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := m.Embed(context.Background(), memory.AsDocument, texts...)
			if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("got %v, %v", got, err)
			}
			if got, err := cross.Rerank(context.Background(), "dog", texts...); err != nil || !slices.Equal(got, ranks) {
				t.Errorf("got %v, %v, want %v", got, err, ranks)
			}
		})
	}
	all.Wait()
}

func TestManyGoroutinesGiveTheSameBits(t *testing.T) {
	texts := []string{"", "hello", "the quick brown fox jumps over the lazy dog in lisbon", strings.Repeat("fox ", 46), strings.Repeat("dog ", 90)}
	for _, name := range embedders {
		m := openTest(t, name)
		for _, text := range texts {
			want := embed(t, m.only(1), text)
			for workers := 2; workers < 8; workers++ {
				if got := embed(t, m.only(workers), text); !slices.Equal(got[0], want[0]) {
					t.Errorf("%s: %q by %d: %v, want %v", name, text, workers, got[0], want[0])
				}
				if len(m.workspaces) != workers {
					t.Errorf("%s: %d of %d are free after the end", name, len(m.workspaces), workers)
				}
			}
		}
	}
	if !testing.Short() { // the tiny ones have no columns to share
		m, err := openFolder(miniLM(t, false), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, tokens := range []int{8, 47, 100} {
			want := embed(t, m.only(1), sentence(tokens))
			for workers := 2; workers <= maxTeam; workers++ {
				if got := embed(t, m.only(workers), sentence(tokens)); !slices.Equal(got[0], want[0]) {
					t.Errorf("%d tokens by %d differ from those by one", tokens, workers)
				}
			}
		}
	}
	m := openTest(t, "cross")
	for _, text := range texts {
		want, _ := m.only(1).Rerank(context.Background(), "dog", text)
		if got, err := m.only(5).Rerank(context.Background(), "dog", text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestVectorTiersGiveTheSameBits(t *testing.T) {
	if len(vector.Tiers()) < 3 {
		t.Skip("this machine has no two tiers to compare")
	}
	before := vector.Tier()
	defer vector.SetTier(before)
	m, cross := openTest(t, "mean"), openTest(t, "cross")
	const text = "the quick brown fox jumps over the lazy dog in lisbon"
	var vectors [][]float32
	var scores []float32
	for _, name := range vector.Tiers()[1:] {
		vector.SetTier(name)
		vectors = append(vectors, embed(t, m, text)...)
		got, err := cross.Rerank(context.Background(), "hello world", text)
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, got...)
	}
	if !slices.Equal(vectors[0], vectors[1]) || scores[0] != scores[1] {
		t.Errorf("%v: vectors %v, scores %v", vector.Tiers()[1:], vectors, scores)
	}
}

// miniLM returns a folder with a model of all-MiniLM-L6-v2's shape, random weights and its own
// vocabulary; with a classifier it has the cross-encoder's shape.
func miniLM(t testing.TB, cross bool) fstest.MapFS {
	dir := fstest.MapFS{}
	for name, f := range folder(t, map[bool]string{true: "cross", false: "mean"}[cross]) {
		dir[name] = f
	}
	const hidden, inner, words, positions = 384, 1536, 30522, 512
	dir["config.json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"model_type":"bert","hidden_act":"gelu","hidden_size":%d,"intermediate_size":%d,
		"num_hidden_layers":6,"num_attention_heads":12,"max_position_embeddings":%d,"type_vocab_size":2,"vocab_size":%d}`, hidden, inner, positions, words)}
	dir["sentence_bert_config.json"] = &fstest.MapFile{Data: []byte(`{"max_seq_length":256}`)}
	r := rand.New(rand.NewPCG(1, 2))
	header, values, prefix := map[string]any{}, []byte(nil), ""
	add := func(name string, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		at := len(values)
		values = slices.Grow(values, 4*n)
		for range n {
			values = binary.LittleEndian.AppendUint32(values, math.Float32bits(float32(r.NormFloat64()*0.05)))
		}
		header[prefix+name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{at, len(values)}}
	}
	dense := func(name string, in, out int) { add(name+".weight", out, in); add(name+".bias", out) }
	norm := func(name string) { add(name+".weight", hidden); add(name+".bias", hidden) }
	if cross {
		dense("classifier", hidden, 1)
		prefix = "bert."
		dense("pooler.dense", hidden, hidden)
	}
	add("embeddings.word_embeddings.weight", words, hidden)
	add("embeddings.position_embeddings.weight", positions, hidden)
	add("embeddings.token_type_embeddings.weight", 2, hidden)
	norm("embeddings.LayerNorm")
	for i := range 6 {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			dense(at+"attention.self."+part, hidden, hidden)
		}
		dense(at+"attention.output.dense", hidden, hidden)
		norm(at + "attention.output.LayerNorm")
		dense(at+"intermediate.dense", hidden, inner)
		dense(at+"output.dense", inner, hidden)
		norm(at + "output.LayerNorm")
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	dir[weightsFile] = &fstest.MapFile{Data: bytes.Join([][]byte{binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, values}, nil)}
	return dir
}

// only limits the model to so many processors.
func (m *Model) only(workers int) *Model {
	m.workspaces = make(chan *workspace, workers)
	for range workers {
		m.workspaces <- &workspace{}
	}
	return m
}

// sentence returns a text of so many tokens, including those around it.
func sentence(tokens int) string { return strings.TrimSpace(strings.Repeat("dog ", tokens-2)) }

// best also reports the fastest round, which is more reliable on a busy machine.
func best(b *testing.B, do func()) {
	fastest := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		do()
		fastest = min(fastest, time.Since(start))
	}
	b.ReportMetric(float64(fastest.Microseconds())/1000, "best-ms")
}

// BenchmarkEmbed has the shape of all-MiniLM-L6-v2; tools/golden-models/bench.mjs runs the same in
// ONNX Runtime.
func BenchmarkEmbed(b *testing.B) {
	m, err := openFolder(miniLM(b, false), "")
	if err != nil {
		b.Fatal(err)
	}
	before := vector.Tier()
	defer vector.SetTier(before)
	for _, tier := range vector.Tiers() {
		vector.SetTier(tier)
		for _, shape := range [][2]int{{1, 8}, {1, 16}, {1, 32}, {1, 128}, {1, 256}, {24, 64}} {
			texts := slices.Repeat([]string{sentence(shape[1])}, shape[0])
			for workers := 1; workers <= runtime.GOMAXPROCS(0); workers *= 2 {
				b.Run(fmt.Sprintf("%s/%dx%d/workers=%d", tier, shape[0], shape[1], workers), func(b *testing.B) {
					m.only(workers)
					best(b, func() { embed(b, m, texts...) })
				})
			}
		}
	}
}

// BenchmarkRerank is 24 pairs of 64 tokens in the shape of ms-marco-MiniLM-L-6-v2.
func BenchmarkRerank(b *testing.B) {
	m, err := openFolder(changed(b, miniLM(b, true), "sentence_bert_config.json", 512, "max_seq_length"), "")
	if err != nil {
		b.Fatal(err)
	}
	for workers := 1; workers <= runtime.GOMAXPROCS(0); workers *= 2 {
		b.Run(fmt.Sprintf("24x64/workers=%d", workers), func(b *testing.B) {
			m.only(workers)
			best(b, func() {
				if _, err := m.Rerank(context.Background(), sentence(12), slices.Repeat([]string{sentence(53)}, 24)...); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
