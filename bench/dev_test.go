package bench

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/model/embed"
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

func devSets(t testing.TB) []Dataset {
	dir := shared(t)
	locomo, err := LoCoMo(filepath.Join(dir, "locomo", "locomo-dev.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	beam, err := BEAM(filepath.Join(dir, "beam", "100K-dev.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	realmem := Dataset{Name: "RealMem"}
	files, _ := filepath.Glob(filepath.Join(dir, "realmem", "*.json.gz"))
	for _, f := range files {
		c, err := RealMem(f)
		if err != nil {
			t.Fatal(err)
		}
		realmem.Conversations = append(realmem.Conversations, c)
	}
	return []Dataset{locomo, beam, realmem}
}

func TestRetrievalOnDevelopmentData(t *testing.T) {
	for _, set := range devSets(t) {
		report, err := Retrieval(context.Background(), &Direct{Embedder: embed.Lexical{}}, set)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("\n%s", report)
	}
}
