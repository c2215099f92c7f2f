package bench

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/recall"
)

// shared returns the folder of development data sets, or skips the test.
func shared(t testing.TB) string {
	t.Helper()
	dir, _ := os.Getwd()
	candidates := []string{os.Getenv("LOCI_SHARED")}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		candidates = append(candidates, filepath.Join(dir, "shared"), filepath.Join(dir, "..", "shared"))
	}
	for _, c := range candidates {
		if _, err := os.Stat(filepath.Join(c, "data", "locomo")); c != "" && err == nil {
			return filepath.Join(c, "data")
		}
	}
	t.Skip("no development data: set LOCI_SHARED to a folder with data/locomo/locomo-dev.json.gz in it")
	return ""
}

var all = flag.Bool("all", false, "measure BEAM and RealMem too")

// devSets reads the development halves.
func devSets(t testing.TB) []Dataset {
	dir := shared(t)
	read := func(set Dataset, err error) Dataset {
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	sets := []Dataset{read(LoCoMo(filepath.Join(dir, "locomo", "locomo-dev.json.gz")))}
	if !*all {
		return sets
	}
	sets = append(sets, read(BEAM(filepath.Join(dir, "beam", "100K-dev.jsonl.gz"))))
	realmem := Dataset{Name: "RealMem"}
	files, _ := filepath.Glob(filepath.Join(dir, "realmem", "*.json.gz"))
	for _, f := range files {
		c, err := RealMem(f)
		if err != nil {
			t.Fatal(err)
		}
		realmem.Conversations = append(realmem.Conversations, c)
	}
	return append(sets, realmem)
}

// The figures hold for the weights as they are; lower ones mean that a change of
// language, index or ranking has cost something.
func TestRetrievalOnDevelopmentData(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	for _, set := range devSets(t) {
		d := &Direct{Embedder: embed.Lexical{}}
		report, err := Retrieval(context.Background(), d, set)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("\n%s", report)
		if set.Name == "LoCoMo" && (report.All.Recall < 0.80 || report.All.MRR < 0.65 || report.Refusal < 0.87) {
			t.Errorf("recall@10 %.3f, MRR@20 %.3f, refusal %.3f; want at least 0.80, 0.65, 0.87", report.All.Recall, report.All.MRR, report.Refusal)
		}
	}
}

// BenchmarkFit prints the weights that fit the development data, beside those in
// use, and what both give.
func BenchmarkFit(b *testing.B) {
	names, weights, _ := recall.Cues(recall.Query{}, nil)
	var examples []Example
	for _, set := range devSets(b) {
		d := &Direct{Embedder: embed.Lexical{}}
		more, err := Examples(context.Background(), d, set)
		if err != nil {
			b.Fatal(err)
		}
		examples = append(examples, more...)
	}
	for b.Loop() {
		fitted := Fit(examples, map[string]float64{"LoCoMo": 1, "BEAM": 0.6, "RealMem": 0.05}, weights)
		for i, name := range names {
			b.Logf("%-14s %6.2f fitted %6.2f", name, weights[i], fitted[i])
		}
		b.Logf("in use %v", Evaluate(examples, weights))
		b.Logf("fitted %v", Evaluate(examples, fitted))
	}
}
