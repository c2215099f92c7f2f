package eval

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/model/transformer"
	"github.com/loci-memory/loci/memory"
)

// TestRealWeightsOfBGEGiveWhatONNXRuntimeDoes holds the cosine of questions and documents against that of
// ONNX Runtime 1.32.0, which ran the graph that tools/bge.py reads.
func TestRealWeightsOfBGEGiveWhatONNXRuntimeDoes(t *testing.T) {
	const name = "bge-small-en-v1.5"
	dir := os.Getenv("LOCI_MODELS_DIR")
	if dir == "" {
		dir = "../../tmp/models"
	}
	m, err := transformer.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("%v: make models-bge makes it", err)
	}
	lease := "The lease says that the deposit of 1,450 euros is due back within thirty days after the keys are handed over, " +
		"unless something is broken, in which case the landlord sends a list with prices. "
	for _, pair := range []struct {
		question, document string
		cosine             float64
	}{
		{"what car do we have", "User drives a ten-year-old Skoda Fabia.", 0.600775},
		{"When's the baby due?", "User's sister expects her second child in late May.", 0.610129},
		{"is ther anything i shouldnt eat", "User is allergic to cashews and carries an EpiPen.", 0.488202}, //nolint:misspell // as people write
		{"what time is standup", "Café Größenwahn in Zürich closes at 23:30; ask for Žofie.", 0.501898},
		{"", "A memory about nothing in particular.", 0.594708},
		{"who do I owe money to", strings.Repeat(lease, 12), 0.570528},
	} {
		var v [2][]float32
		for i, as := range []memory.EmbedAs{memory.AsQuestion, memory.AsDocument} {
			out, err := m.Embed(t.Context(), as, []string{pair.question, pair.document}[i])
			if err != nil {
				t.Fatal(err)
			}
			v[i] = out[0]
		}
		got := 0.0
		for i := range v[0] {
			got += float64(v[0][i]) * float64(v[1][i])
		}
		if math.Abs(got-pair.cosine) > 1e-4 {
			t.Errorf("%q, %.40q: cosine %.6f, want %.6f", pair.question, pair.document, got, pair.cosine)
		}
	}
}
