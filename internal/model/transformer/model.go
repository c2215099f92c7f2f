package transformer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"github.com/loci-memory/loci/memory"
)

// Model is an embedder or a cross-encoder that runs in this process. It is safe for concurrent use. All
// concurrent calls together compute on at most one goroutine per processor.
type Model struct {
	tokenizer   *tokenizer
	encoder     *encoder     // nil if static is set
	static      *staticModel // nil if encoder is set
	scoreHead   *scoreHead   // nil unless the model is a cross-encoder
	pooling     string
	prefixes    map[memory.EmbedAs]string
	maxTokens   int  // maximum number of tokens of a sequence, including special tokens
	truncate    bool // true truncates long texts; false splits them
	dims        int
	fingerprint string
	workspaces  chan *workspace // idle workspaces; in all there is one for each allowed goroutine
}

var _ memory.Embedder = (*Model)(nil)

// scoreHead computes a cross-encoder's score from the first token's vector.
type scoreHead struct {
	pooler dense
	weight []float32
	bias   float32
}

// Open reads the model in a folder. For all-MiniLM-L6-v2, it takes a fraction of a second and 90 MB of
// memory.
func Open(dir string) (*Model, error) {
	m, err := openFolder(os.DirFS(dir), filepath.Base(dir))
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", dir, err)
	}
	return m, nil
}

const weightsFile = "model.safetensors"

// openFolder reads the model in dir. name is the folder's name.
func openFolder(dir fs.FS, name string) (*Model, error) {
	m := &Model{workspaces: make(chan *workspace, runtime.GOMAXPROCS(0))}
	for range cap(m.workspaces) {
		m.workspaces <- &workspace{}
	}
	var err error
	if m.tokenizer, err = readTokenizer(dir); err != nil {
		return nil, err
	}
	question, document, err := readPrompts(dir)
	if err != nil {
		return nil, err
	}
	family := ""
	if question+document == "" {
		question, document = familyPrefixes(dir, name)
		family = question + document
	}
	m.prefixes = map[memory.EmbedAs]string{memory.AsQuestion: question, memory.AsDocument: document}
	if err := m.readWeights(dir); err != nil {
		return nil, err
	}
	sum, err := fingerprint(dir, family)
	m.fingerprint = fmt.Sprintf("%s:%d:%x", m.pooling, m.dims, sum[:8])
	return m, err
}

func (m *Model) readWeights(dir fs.FS) error {
	f, err := dir.Open(weightsFile)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, ok := f.(io.ReaderAt)
	if !ok {
		return fmt.Errorf("%s does not support random access", weightsFile)
	}
	weights, err := readTensors(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", weightsFile, err)
	}
	if _, missing := weights.firstPresent(staticNames...); missing == nil {
		return m.readStatic(weights)
	}
	var c config
	if err := readJSON(dir, "config.json", &c); err != nil {
		return err
	}
	if err := m.readBERT(dir, weights, &c); err != nil {
		return err
	}
	m.maxTokens, err = readMaxTokens(dir, c.MaxPositions-c.firstPosition())
	return err
}

func (m *Model) readStatic(weights *tensors) (err error) {
	if m.static, err = readStatic(weights, m.tokenizer); err != nil {
		return fmt.Errorf("%s: %w", weightsFile, err)
	}
	m.pooling, m.dims = "static", m.static.dims
	return nil
}

func (m *Model) readBERT(dir fs.FS, weights *tensors, c *config) error {
	if err := c.checkBERT(); err != nil {
		return err
	}
	if c.VocabularySize < int(m.tokenizer.vocabularySize) {
		return fmt.Errorf("config.json: vocab_size is %d, but the tokenizer has %d tokens; use the files of one model", c.VocabularySize, m.tokenizer.vocabularySize)
	}
	if m.tokenizer.cls < 0 {
		return errors.New("the tokenizer adds no special tokens around a text, but BERT needs them")
	}
	name, err := weights.firstPresent("embeddings.word_embeddings.weight", "bert.embeddings.word_embeddings.weight", "roberta.embeddings.word_embeddings.weight")
	if err != nil {
		return fmt.Errorf("%s: %w", weightsFile, err)
	}
	prefix := name[:len(name)-len("embeddings.word_embeddings.weight")]
	pooler, classifier := prefix+"pooler.dense", "classifier"
	if weights.hasTensor("classifier.out_proj.weight") {
		pooler, classifier = "classifier.dense", "classifier.out_proj"
	}
	isCrossEncoder := weights.hasTensor(classifier + ".weight")
	if isCrossEncoder && c.TokenTypes < 2 && m.tokenizer.pairing == pairBERT {
		return fmt.Errorf("config.json: type_vocab_size is %d, but a cross-encoder needs 2 if its texts differ in type", c.TokenTypes)
	}
	if m.encoder, err = readEncoder(weights, prefix, c); err != nil {
		return fmt.Errorf("%s: %w", weightsFile, err)
	}
	m.dims = c.HiddenSize
	if !isCrossEncoder {
		m.pooling, err = readPooling(dir)
		return err
	}
	m.pooling = "cross"
	if m.scoreHead, err = readScoreHead(weights, pooler, classifier, c.HiddenSize); err != nil {
		return fmt.Errorf("%s: %w", weightsFile, err)
	}
	return nil
}

func readScoreHead(source *tensors, pooler, classifier string, hiddenSize int) (*scoreHead, error) {
	l := &tensorLoader{source: source}
	h := &scoreHead{pooler: l.dense(hiddenSize, hiddenSize, pooler), weight: l.floats(classifier+".weight", 1, int64(hiddenSize))}
	if bias := l.floats(classifier+".bias", 1); l.err == nil {
		h.bias = bias[0]
	}
	return h, l.err
}

// fingerprint hashes the files that determine vectors, the prefixes of the model's family, and a text for the
// version of this code, which must change if the code computes other vectors.
func fingerprint(dir fs.FS, prefixes string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	fmt.Fprintln(h, "loci 1: parts of long texts are averaged by their tokens"+prefixes)
	for _, name := range []string{
		"config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json", "modules.json", "1_Pooling/config.json",
		"sentence_bert_config.json", "config_sentence_transformers.json", weightsFile,
	} {
		if err := hashFile(h, dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sum, err
		}
	}
	h.Sum(sum[:0])
	return sum, nil
}

func hashFile(h hash.Hash, dir fs.FS, name string) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintln(h, name, info.Size())
	_, err = io.Copy(h, f)
	return err
}

// Fingerprint returns the pooling, the number of dimensions and a hash of the folder's files.
func (m *Model) Fingerprint() string { return m.fingerprint }

// Dims returns the length of the vectors.
func (m *Model) Dims() int { return m.dims }

// IsCrossEncoder reports whether the model has [Model.Rerank] instead of [Model.Embed].
func (m *Model) IsCrossEncoder() bool { return m.scoreHead != nil }

// Embed returns one unit vector for each text, in order. A text longer than the model's limit is split into
// equal parts, and the parts' vectors are averaged, weighted by their number of tokens. When ctx ends, Embed
// returns the error of ctx. For a cross-encoder it returns [memory.Invalid].
func (m *Model) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if m.scoreHead != nil {
		return nil, memory.Errorf(memory.Invalid, "a cross-encoder can compare texts, but not embed them")
	}
	tokensOf := func(i int) []int32 { return m.tokenizer.tokenIDs(m.prefixes[as] + texts[i]) }
	if m.static != nil {
		return m.embedStatic(ctx, len(texts), tokensOf)
	}
	prefix := m.tokenizer.tokenIDs(m.prefixes[as])
	var parts []sequence
	var textIndexes []int // by part: index of the text to which it belongs
	for i := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parts = m.appendSequences(parts, prefix, tokensOf(i))
		for len(textIndexes) < len(parts) {
			textIndexes = append(textIndexes, i)
		}
	}
	vectors := make([][]float32, len(parts))
	if err := m.encode(ctx, parts, m.pooling == clsPooling, func(i int, rows []float32) {
		vectors[i] = normalized(mean(rows, m.dims))
	}); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, v := range vectors {
		if out[textIndexes[i]] == nil {
			out[textIndexes[i]] = make([]float32, m.dims)
		}
		for k, x := range v {
			out[textIndexes[i]][k] += x * float32(len(parts[i].ids))
		}
	}
	for _, v := range out {
		normalized(v)
	}
	return out, nil
}

// Window returns the maximum number of tokens of a text that are embedded together, and a token counter. For
// a static model, which has no limit, it returns 0 and nil.
func (m *Model) Window() (maxTokens int, count func(text string) int) {
	if m.static != nil {
		return 0, nil
	}
	around := len(m.tokenizer.tokenIDs(m.prefixes[memory.AsDocument])) + 2
	return m.maxTokens - around, func(text string) int { return len(m.tokenizer.tokenIDs(text)) }
}

func mean(rows []float32, width int) []float32 {
	v := make([]float32, width)
	for at := 0; at < len(rows); at += width {
		for k, x := range rows[at:][:width] {
			v[k] += x
		}
	}
	for k := range v {
		v[k] *= float32(width) / float32(len(rows))
	}
	return v
}

// Rerank returns for each text, in order, how well it answers the question: the sigmoid of the model's score,
// from 0 to 1. If a pair is longer than the model's limit, the longer of the two texts is truncated. When ctx
// ends, Rerank returns the error of ctx. For an embedder it returns [memory.Invalid].
func (m *Model) Rerank(ctx context.Context, question string, texts ...string) ([]float32, error) {
	if m.scoreHead == nil {
		return nil, memory.Errorf(memory.Invalid, "an embedder cannot compare texts: it has no classifier")
	}
	asked := m.tokenizer.tokenIDs(question)
	pairs := make([]sequence, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pairs[i] = m.pairSequence(asked, m.tokenizer.tokenIDs(text))
	}
	first := make([]float32, len(texts)*m.dims)
	if err := m.encode(ctx, pairs, true, func(i int, rows []float32) { copy(first[i*m.dims:], rows) }); err != nil {
		return nil, err
	}
	pooled := m.scoreHead.pooler.apply(make([]float32, len(first)), first)
	out := make([]float32, len(texts))
	for i := range out {
		logit := float64(m.scoreHead.bias)
		for k, x := range pooled[i*m.dims:][:m.dims] {
			logit += math.Tanh(float64(x)) * float64(m.scoreHead.weight[k])
		}
		if !math.IsNaN(logit) { // damaged weights yield NaN
			out[i] = float32(1 / (1 + math.Exp(-logit)))
		}
	}
	return out, nil
}
