package transformer

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// multilingual returns the tokenizer of testdata/multilingual in XLM-RoBERTa's published form, in
// its current conversion, and with bytes for unknown characters: see
// tools/golden-models/multilingual.py.
func multilingual(t testing.TB) []*tokenizer {
	t.Helper()
	dir := fstest.MapFS{"tokenizer.json": {Data: unzip(t, filepath.Join("testdata", "multilingual", "tokenizer.json.gz"))}}
	var whole struct {
		Normalizer any
		Model      struct{ Vocab []any }
	}
	if err := json.Unmarshal(dir["tokenizer.json"].Data, &whole); err != nil {
		t.Fatal(err)
	}
	for b := range 256 {
		const hex = "0123456789ABCDEF"
		whole.Model.Vocab = append(whole.Model.Vocab, []any{"<0x" + hex[b>>4:b>>4+1] + hex[b&15:b&15+1] + ">", -12.0})
	}
	converted := changed(t, dir, "tokenizer.json", map[string]any{"type": "Sequence", "normalizers": []any{
		whole.Normalizer, map[string]any{"type": "Strip", "strip_right": true},
		map[string]any{"type": "Replace", "pattern": map[string]any{"Regex": " {2,}"}, "content": "▁"},
	}}, "normalizer")
	converted = changed(t, converted, "tokenizer.json", map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}, "pre_tokenizer")
	bytewise := changed(t, changed(t, dir, "tokenizer.json", true, "model", "byte_fallback"), "tokenizer.json", whole.Model.Vocab, "model", "vocab")
	var out []*tokenizer
	for _, dir := range []fs.FS{dir, converted, bytewise} {
		tokens, err := readTokenizer(dir)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tokens)
	}
	return out
}

// TestManyScriptsAreCutAsByHuggingFace compares some 300 texts, and those in the file
// LOCI_MANY_TEXTS.
func TestManyScriptsAreCutAsByHuggingFace(t *testing.T) {
	files := [][]byte{unzip(t, filepath.Join("testdata", "multilingual", "cut.json.gz"))}
	if name := os.Getenv("LOCI_MANY_TEXTS"); name != "" {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	tokenizers := multilingual(t)
	for _, file := range files {
		var golden []struct {
			Text string
			IDs  [][]int32
		}
		if err := json.Unmarshal(file, &golden); err != nil || len(golden) < 200 {
			t.Fatalf("%d texts, %v", len(golden), err)
		}
		wrong := 0
		for _, g := range golden {
			for i, tokens := range tokenizers {
				got := slices.Concat([]int32{tokens.cls}, tokens.tokenIDs(g.Text), []int32{tokens.sep})
				if slices.Equal(got, g.IDs[i]) {
					continue
				}
				if wrong++; wrong <= 10 {
					t.Errorf("tokenizer %d: %q: %v, want %v", i, g.Text, got, g.IDs[i])
				}
			}
		}
		t.Logf("%d texts by %d tokenizers, %d wrong", len(golden), len(tokenizers), wrong)
	}
}
