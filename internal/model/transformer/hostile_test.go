package transformer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/loci-memory/loci/memory"
)

// file returns a safetensors file with the header and so many bytes of values.
func file(header string, values int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, values)...)
}

func TestTensorsThatLieAreRefused(t *testing.T) {
	huge := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	for name, b := range map[string][]byte{
		"nothing":                 nil,
		"half a length":           {1, 2, 3},
		"a length and no header":  huge,
		"a header past the end":   append([]byte{200, 0, 0, 0, 0, 0, 0, 0}, "{}"...),
		"no JSON":                 file("{", 0),
		"values past the end":     file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7),
		"values before the start": file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, 8),
		"end before begin":        file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8),
		"too few bytes":           file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8),
		"too many bytes":          file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}`, 8),
		"a shape that overflows":  file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 8),
		"a shape of 2⁶³ bytes":    file(`{"a":{"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,0]}}`, 8),
		"a shape below nothing":   file(`{"a":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}}`, 8),
		"two at one place":        file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8),
		"one offset":              file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}}`, 8),
		"offsets of text":         file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":["0","8"]}}`, 8),
	} {
		if got, err := readTensors(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: read as %v", name, got.entries)
		}
	}
}

func TestTensorsAreReadInEveryKind(t *testing.T) {
	header := `{"__metadata__":{"format":"pt"},
		"f64":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"f32":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]},
		"f16":{"dtype":"F16","shape":[1],"data_offsets":[12,14]},"bf16":{"dtype":"BF16","shape":[1],"data_offsets":[14,16]},
		"i8":{"dtype":"I8","shape":[1],"data_offsets":[16,17]},"u8":{"dtype":"U8","shape":[1],"data_offsets":[17,18]},
		"i32":{"dtype":"I32","shape":[2],"data_offsets":[18,26]}}`
	b := file(header, 0)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(-1.5))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(-1.5))
	b = binary.LittleEndian.AppendUint16(b, 0xbe00)
	b = binary.LittleEndian.AppendUint16(b, 0xbfc0)
	b = append(b, 0xfe, 7)
	b = binary.LittleEndian.AppendUint64(b, 0xffffffff_00000003)
	from, err := readTensors(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float32{"f64": -1.5, "f16": -1.5, "bf16": -1.5, "i8": -2} {
		if got, err := from.floats(name, 1); err != nil || got[0] != want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	if got, err := from.ints("i32"); err != nil || got[0] != 3 || got[1] != -1 {
		t.Errorf("i32: %v, %v", got, err)
	}
	for name, shape := range map[string][]int64{"f32": {1}, "f16": {2}, "u8": {1}, "i32": {2}, "none": {1}} {
		if got, err := from.floats(name, shape...); err == nil {
			t.Errorf("%s as %v: %v", name, shape, got)
		}
	}
}

func FuzzTensors(f *testing.F) {
	for _, name := range []string{"cls", "unigram"} {
		b, err := os.ReadFile(filepath.Join("testdata", name, weightsFile))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 6000)])
	}
	f.Add(file(`{"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		from, err := readTensors(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		values := 0
		for name, e := range from.entries {
			if got, err := from.floats(name, e.shape...); err == nil {
				values += len(got)
			} else if got, err := from.ints(name); err == nil {
				values += len(got)
			}
		}
		if values > len(b) {
			t.Errorf("%d values in %d bytes", values, len(b))
		}
	})
}

// A single infinite value or NaN would make every vector the same.
func TestValuesThatAreNotFiniteAreRefused(t *testing.T) {
	withLargeTables(t)
	onTiers(t, func(t *testing.T) {
		dir := folder(t, "mean")
		b := dir[weightsFile].Data
		for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, at := range []int{len(b) - 4, len(b) - 4*1500, 8 + int(binary.LittleEndian.Uint64(b)) + 4*50} {
				broken := maps.Clone(dir)
				broken[weightsFile] = &fstest.MapFile{Data: bytes.Clone(b)}
				binary.LittleEndian.PutUint32(broken[weightsFile].Data[at:], math.Float32bits(float32(value)))
				if _, err := openFolder(broken, ""); err == nil || !strings.Contains(err.Error(), "NaN or infinite") || !strings.Contains(err.Error(), `tensor "`) {
					t.Errorf("%v at byte %d: %v", value, at, err)
				}
			}
		}
	})
}

// folder reads a model into memory, so that tests can change it.
func folder(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	root := os.DirFS(filepath.Join("testdata", name))
	if err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, path)
		out[path] = &fstest.MapFile{Data: b}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if out["tokenizer.json"] == nil && out["vocab.txt"] == nil { // that of XLM-RoBERTa's kind is shared, and packed
		out["tokenizer.json"] = &fstest.MapFile{Data: unzip(t, filepath.Join("testdata", "multilingual", "tokenizer.json.gz"))}
	}
	return out
}

// reheaded returns the folder with the header of its tensors changed.
func reheaded(t testing.TB, dir fstest.MapFS, change func(header map[string]any)) fstest.MapFS {
	t.Helper()
	b := dir[weightsFile].Data
	n := binary.LittleEndian.Uint64(b)
	var header map[string]any
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	change(header)
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	out := maps.Clone(dir)
	out[weightsFile] = &fstest.MapFile{Data: append(file(string(text), 0), b[8+n:]...)}
	return out
}

// renamed gives a tensor another name.
func renamed(from, to string) func(header map[string]any) {
	return func(header map[string]any) {
		header[to] = header[from]
		delete(header, from)
	}
}

// changed returns the folder with one field of one file set, or, with nil, deleted.
func changed(t testing.TB, dir fstest.MapFS, file string, value any, path ...string) fstest.MapFS {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(dir[file].Data, &all); err != nil {
		t.Fatal(err)
	}
	at := all
	for _, key := range path[:len(path)-1] {
		at = at[key].(map[string]any)
	}
	at[path[len(path)-1]] = value
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	out := maps.Clone(dir)
	out[file] = &fstest.MapFile{Data: b}
	return out
}

func TestFoldersThatCannotBeDoneAreRefused(t *testing.T) {
	mean, cross, static, unigram := folder(t, "mean"), folder(t, "cross"), folder(t, "static"), folder(t, "unigram")
	without := func(dir fstest.MapFS, files ...string) fstest.MapFS {
		out := maps.Clone(dir)
		for _, f := range files {
			delete(out, f)
		}
		return out
	}
	cut := maps.Clone(mean)
	cut[weightsFile] = &fstest.MapFile{Data: mean[weightsFile].Data[:40000]}
	pointer := maps.Clone(mean)
	pointer[weightsFile] = &fstest.MapFile{Data: []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n")}
	for want, dir := range map[string]fstest.MapFS{
		"model_type":           changed(t, mean, "config.json", "gpt2", "model_type"),
		"hidden_act":           changed(t, mean, "config.json", "relu", "hidden_act"),
		"absolute":             changed(t, mean, "config.json", "relative_key", "position_embedding_type"),
		"hidden_size is":       changed(t, mean, "config.json", 1<<40, "hidden_size"),
		"hidden_size 32":       changed(t, mean, "config.json", 5, "num_attention_heads"),
		"num_hidden_layers":    changed(t, mean, "config.json", -1, "num_hidden_layers"),
		"layer.2":              changed(t, mean, "config.json", 3, "num_hidden_layers"),
		"want [":               changed(t, mean, "config.json", 65, "intermediate_size"),
		"vocab_size is":        changed(t, mean, "config.json", 3, "vocab_size"),
		"position_embeddings":  changed(t, mean, "config.json", 1000, "max_position_embeddings"),
		"too short":            changed(t, mean, "sentence_bert_config.json", 3, "max_seq_length"),
		"pad_token_id":         changed(t, folder(t, "xlmr"), "config.json", -2, "pad_token_id"),
		"pad_token_id is 64":   changed(t, folder(t, "xlmr"), "config.json", 63, "pad_token_id"),
		"vocab_size is 500":    changed(t, folder(t, "xlmr"), "config.json", 500, "vocab_size"),
		"include_prompt":       changed(t, mean, "1_Pooling/config.json", false, "include_prompt"),
		"pooling by":           changed(t, mean, "1_Pooling/config.json", true, "pooling_mode_max_tokens"),
		"cut off or damaged":   cut,
		"git lfs pull":         pointer,
		"no such file":         without(mean, weightsFile),
		"vocab.txt":            without(mean, "tokenizer.json"),
		"BPE":                  changed(t, mean, "tokenizer.json", "BPE", "model", "type"),
		"unknown token":        changed(t, mean, "tokenizer.json", "[XXX]", "model", "unk_token"),
		"BertPreTokenizer":     changed(t, mean, "tokenizer.json", nil, "pre_tokenizer"),
		"normalizer NFKC":      changed(t, mean, "tokenizer.json", "NFKC", "normalizer", "type"),
		"normalizer Replace":   changed(t, mean, "tokenizer.json", map[string]any{"type": "Replace", "pattern": map[string]any{"String": "a"}, "content": "aa"}, "normalizer"),
		"10000 characters":     changed(t, mean, "tokenizer.json", 10000, "model", "max_input_chars_per_word"),
		"template":             changed(t, mean, "tokenizer.json", []any{}, "post_processor", "pair"),
		"around":               changed(t, mean, "tokenizer.json", nil, "post_processor"),
		"added token":          changed(t, mean, "tokenizer.json", []any{map[string]any{"id": 1, "content": "x", "normalized": true}}, "added_tokens"),
		"number 9999":          changed(t, mean, "tokenizer.json", []any{map[string]any{"id": 9999, "content": "x"}}, "added_tokens"),
		"has number -5":        changed(t, mean, "tokenizer.json", -5, "model", "vocab", "hello"),
		"texts differ in type": changed(t, cross, "config.json", 1, "type_vocab_size"),
		"vectors for":          changed(t, static, "tokenizer.json", 5000, "model", "vocab", "hello"),
		"score":                changed(t, unigram, "tokenizer.json", []any{[]any{"a", "b"}, []any{"c", 1}}, "model", "vocab"),
		"missing tensor":       reheaded(t, mean, renamed("encoder.layer.1.output.dense.bias", "x")),
		"is not supported":     reheaded(t, mean, func(h map[string]any) { h["embeddings.LayerNorm.bias"].(map[string]any)["dtype"] = "U32" }),
		"weights for": reheaded(t, unigram, func(h map[string]any) {
			h["weights"] = map[string]any{"dtype": "F64", "shape": []int{1}, "data_offsets": []int{0, 8}}
		}),
		"a mapping of": reheaded(t, unigram, func(h map[string]any) {
			h["mapping"] = map[string]any{"dtype": "I32", "shape": []int{0}, "data_offsets": []int{0, 0}}
		}),
		"want integers": reheaded(t, unigram, func(h map[string]any) { h["mapping"].(map[string]any)["dtype"] = "F32" }),
		"has vector":    reheaded(t, unigram, func(h map[string]any) { e := h["embeddings"].(map[string]any); e["shape"] = []int{3, 128} }),
		"without vectors": reheaded(t, static, func(h map[string]any) {
			h["embeddings"] = map[string]any{"dtype": "I8", "shape": []int{5, 0}, "data_offsets": []int{0, 0}}
		}),
		"not a token with":      changed(t, mean, "tokenizer.json", map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", -2}, "sep": []any{"[SEP]", 3}}, "post_processor"),
		"RobertaProcessing":     changed(t, mean, "tokenizer.json", "RobertaProcessing", "post_processor", "type"),
		"tokens 2 and 5000":     changed(t, mean, "tokenizer.json", map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 5000}}, "post_processor"),
		"without an unknown":    changed(t, unigram, "tokenizer.json", nil, "model", "unk_id"),
		"token <0x00>":          changed(t, unigram, "tokenizer.json", true, "model", "byte_fallback"),
		"prepend_scheme":        changed(t, unigram, "tokenizer.json", "never", "pre_tokenizer", "prepend_scheme"),
		"only WordPiece":        changed(t, unigram, "tokenizer.json", "WordLevel", "model", "type"),
		"cut off":               changed(t, unigram, "tokenizer.json", map[string]any{"type": "Precompiled", "precompiled_charsmap": "AAAA"}, "normalizer"),
		"a trie of":             changed(t, unigram, "tokenizer.json", map[string]any{"type": "Precompiled", "precompiled_charsmap": "////AAAAAAAA"}, "normalizer"),
		"base64":                changed(t, unigram, "tokenizer.json", map[string]any{"type": "Precompiled", "precompiled_charsmap": "?"}, "normalizer"),
		"the unknown token has": changed(t, unigram, "tokenizer.json", 100000, "model", "unk_id"),
	} {
		m, err := openFolder(dir, "")
		if err == nil || !strings.Contains(err.Error(), want) && !(want == "no such file" && strings.Contains(err.Error(), "exist")) {
			t.Errorf("want an error with %q, got %v, %v", want, m, err)
		}
	}
}

// TestOlderFoldersAreRead uses the names of the first checkpoints and tokenizers.
func TestOlderFoldersAreRead(t *testing.T) {
	dir := folder(t, "mean")
	older := reheaded(t, dir, func(h map[string]any) {
		for name := range maps.Clone(h) {
			if at, ok := strings.CutSuffix(name, "LayerNorm.weight"); ok {
				renamed(name, at+"LayerNorm.gamma")(h)
				renamed(at+"LayerNorm.bias", at+"LayerNorm.beta")(h)
			}
		}
	})
	older = changed(t, older, "tokenizer.json", map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 3}}, "post_processor")
	older = changed(t, older, "config.json", nil, "layer_norm_eps")
	delete(older, "modules.json")
	delete(older, "1_Pooling/config.json")
	m, err := openFolder(older, "")
	if err != nil {
		t.Fatal(err)
	}
	now, err := openFolder(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	checkVector(t, "an older folder", embed(t, m, "hello world")[0], embed(t, now, "hello world")[0])
}

func TestNormalizersKeepTheirSettings(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		n        normalizerFile
		in, want string
	}{
		{normalizerFile{StripAccents: &no, Lowercase: true}, "İ É Σ", "i̇ é σ"},
		{normalizerFile{StripAccents: &yes}, "İ É Σ", "I E Σ"},
		{normalizerFile{CleanText: true}, "a\tÉ\x00\u00a0東", "a É 東"},
		{normalizerFile{SeparateChinese: true}, "a\x00東b", "a\x00 東 b"},
	} {
		c.n.Type = "BertNormalizer"
		steps, err := c.n.steps()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(steps[0](nil, c.in)); got != c.want {
			t.Errorf("%+v of %q: %q, want %q", c.n, c.in, got, c.want)
		}
	}
}

// FuzzConfig changes a folder's configuration: it is refused, or it works.
func FuzzConfig(f *testing.F) {
	for _, name := range []string{"cls", "cross", "static", "unigram"} {
		dir := folder(f, name)
		tokens := dir["tokenizer.json"]
		if tokens == nil {
			tokens = &fstest.MapFile{Data: []byte("{}")}
		}
		f.Add(name == "cross", dir["config.json"].Data, tokens.Data, dir[weightsFile].Data[:200])
	}
	dirs := map[bool]fstest.MapFS{true: folder(f, "cross"), false: folder(f, "unigram")}
	f.Fuzz(func(t *testing.T, cross bool, config, tokenizer, header []byte) {
		dir := maps.Clone(dirs[cross])
		weights := bytes.Clone(dir[weightsFile].Data)
		copy(weights, header)
		dir["config.json"], dir["tokenizer.json"], dir[weightsFile] = &fstest.MapFile{Data: config}, &fstest.MapFile{Data: tokenizer}, &fstest.MapFile{Data: weights}
		m, err := openFolder(dir, "")
		if err != nil {
			return
		}
		if m.IsCrossEncoder() {
			_, err = m.Rerank(context.Background(), "one [SEP]", "two", "")
		} else {
			_, err = m.Embed(context.Background(), memory.AsQuestion, "one [SEP]", "two", "")
		}
		if err != nil {
			t.Error(err)
		}
	})
}

func FuzzTokenizer(f *testing.F) {
	for _, name := range []string{"mean", "unigram"} {
		for _, g := range goldens(f, name+"/golden.json") {
			f.Add(g.Text)
		}
	}
	f.Add("\xff\xc3\x28 a\xe2\x82")
	for _, text := range []string{"Ａ\u0301 <mask>  ▁▁ ﷺ\u200d\u0600e\u0301", "น้ำ 🇩🇪👩\u200d👧 \u1100\u1161\x00", "<s>\xed\xa0\x80</s>"} {
		f.Add(text)
	}
	all := multilingual(f)
	for _, name := range []string{"mean", "cls", "unigram"} {
		all = append(all, openTest(f, name).tokenizer)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tokens := range all {
			for _, id := range tokens.tokenIDs(text) {
				if id < 0 || id >= tokens.vocabularySize {
					t.Fatalf("%q: token %d of %d", text, id, tokens.vocabularySize)
				}
			}
		}
		checkPieces(t, all[len(all)-3], text)
	})
}

// FuzzCharsmap changes some units of a published table: it is refused, or its replacements have
// limited length.
func FuzzCharsmap(f *testing.F) {
	var file tokenizerFile
	if err := json.Unmarshal(unzip(f, filepath.Join("testdata", "multilingual", "tokenizer.json.gz")), &file); err != nil {
		f.Fatal(err)
	}
	table, err := base64.StdEncoding.DecodeString(file.Normalizer.Charsmap)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, 0, "ﬁ e\u0301")
	f.Add([]byte{0xff, 0xff, 0xff, 0x7f}, 0, "Ａ")
	f.Add([]byte{0xff, 0xff, 0xff, 0x7f}, 4, "Ａ")
	f.Add([]byte{0, 0xff, 0xff, 0xff}, 900, "\u1ed9")
	f.Fuzz(func(t *testing.T, patch []byte, at int, text string) {
		b := bytes.Clone(table)
		copy(b[max(0, min(at, len(b))):], patch)
		c, err := readCharsmap(base64.StdEncoding.EncodeToString(b))
		if err != nil {
			return
		}
		if got := c.append(nil, text); len(got) > (len(text)+1)*maxReplacement {
			t.Errorf("%d bytes become %d", len(text), len(got))
		}
	})
}

// checkPieces checks that joined tokens, without unknown ones, give the text without its spaces.
func checkPieces(t *testing.T, tokens *tokenizer, text string) {
	if at, special := tokens.nextSpecial(text); special != nil {
		text = text[:at]
	}
	w := tokens.splitter.(*wordPiece)
	names := map[int32]string{}
	for s, id := range w.initialTokens {
		names[id] = strings.TrimPrefix(s, "##")
	}
	names[w.initialTokens["#"]] = "#"
	normalized := string(tokens.normalize[0](nil, text))
	var b strings.Builder
	for _, id := range tokens.tokenIDs(text) {
		if id == tokens.unknownToken {
			return
		}
		b.WriteString(names[id])
	}
	if want := strings.Join(strings.Fields(normalized), ""); b.String() != want {
		t.Errorf("%q: its tokens make %q, want %q", text, b.String(), want)
	}
}
