package eval

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/bench/report"
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

var all = flag.Bool("all", false, "measure BEAM and RealMem too")

// devSets reads the development halves.
func devSets(t testing.TB) (sets []Dataset) {
	formats := map[string]string{"locomo": "locomo/locomo-dev.json.gz"}
	if *all {
		formats["beam"], formats["realmem"] = "beam/100K-dev.jsonl.gz", "realmem/*.json.gz"
	}
	for _, format := range []string{"locomo", "beam", "realmem"} {
		if formats[format] == "" {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(shared(t), formats[format]))
		set, err := Open(format, 0, files...)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	return sets
}

// table returns a report as a table.
func table(r Report) string {
	var b strings.Builder
	_ = report.NewPrinter(&b, false).Rows(r.Rows()...)
	return b.String()
}

// Lower figures mean that a change of language, index or ranking made retrieval worse.
func TestRetrievalOnDevelopmentData(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	for _, set := range devSets(t) {
		report := retrieved(t, &Direct{Embedder: embed.Lexical{}}, set)
		t.Logf("%s\n%s", set.Name, table(report))
		if set.Name == "locomo" && (report.All.Recall < 0.82 || report.All.MRR < 0.66 || report.Refusal < 0.89) {
			t.Errorf("recall@10 %.3f, MRR@20 %.3f, refusal %.3f; want at least 0.82, 0.66, 0.89", report.All.Recall, report.All.MRR, report.Refusal)
		}
	}
}

// retrieved measures what a target finds of a set.
func retrieved(t *testing.T, d *Direct, set Dataset) Report {
	t.Helper()
	report, err := Measured(context.Background(), d, set, false, Workers)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
