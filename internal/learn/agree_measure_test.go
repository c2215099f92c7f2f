package learn

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
)

func readGzipText(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMeasureAgreeOnSICK counts pairs that count as duplicates when similarity is maximal: no
// contradiction may be one.
func TestMeasureAgreeOnSICK(t *testing.T) {
	all, same, opposed := map[string]int{}, map[string]int{}, 0
	for _, part := range []string{"train", "trial", "test_annotated"} {
		for line := range strings.Lines(readGzipText(t, sharedData(t, "data/sick/SICK_"+part+".txt.gz"))) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) < 5 || f[0] == "pair_ID" {
				continue
			}
			all[f[4]]++
			if sameMeaning(f[1], f[2]) {
				same[f[4]]++
			}
			if f[4] == "CONTRADICTION" && isOpposite(f[1], f[2]) {
				opposed++
			}
		}
	}
	for _, label := range []string{"ENTAILMENT", "NEUTRAL", "CONTRADICTION"} {
		t.Logf("%s: %d of %d pairs would be folded (%.1f %%)", label, same[label], all[label], 100*float64(same[label])/float64(max(1, all[label])))
	}
	t.Logf("of the contradictions the rules see %d (%.1f %%)", opposed, 100*float64(opposed)/float64(max(1, all["CONTRADICTION"])))
	if same["CONTRADICTION"]*200 > all["CONTRADICTION"] {
		t.Errorf("%d contradictions of %d are taken for the same", same["CONTRADICTION"], all["CONTRADICTION"])
	}
}
