package eval

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		report := retrieved(t, &Direct{Embedder: embed.Lexical{}}, set)
		t.Logf("\n%s", report)
		if set.Name == "LoCoMo" && (report.All.Recall < 0.82 || report.All.MRR < 0.66 || report.Refusal < 0.89) {
			t.Errorf("recall@10 %.3f, MRR@20 %.3f, refusal %.3f; want at least 0.82, 0.66, 0.89", report.All.Recall, report.All.MRR, report.Refusal)
		}
	}
}

// shares are what a question of each set counts in a fit: BEAM has few of them,
// and RealMem's gold is whole sessions.
var shares = map[string]float64{"LoCoMo": 1, "BEAM": 0.6, "RealMem": 0.05}

// even are shares by which the sets have a like say in whether a question is
// answered.
var even = map[string]float64{"LoCoMo": 1, "BEAM": 3, "RealMem": 1}

// reportExamples are the examples of all sets, for the tables of docs/ranking.md.
func reportExamples(t *testing.T) (examples []Example) {
	if !*all {
		t.Skip("prints tables for docs/ranking.md; run with -v -all")
	}
	for _, set := range devSets(t) {
		d := &Direct{Embedder: embed.Lexical{}}
		more, err := Examples(context.Background(), d, set)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		examples = append(examples, more...)
	}
	return examples
}

// row returns the measures of the sets as cells of a table.
func row(m map[string]Measure) string {
	var cells []string
	for _, set := range []string{"LoCoMo", "BEAM", "RealMem"} {
		cells = append(cells, fmt.Sprintf("%.3f / %.3f", m[set].Recall, m[set].MRR))
	}
	return strings.Join(cells, " | ")
}

func TestReportWeights(t *testing.T) {
	examples := reportExamples(t)
	names, weights, _ := recall.Cues(recall.Query{}, nil, recall.Options{})
	fitted := Fit(examples, shares, weights)
	for i, name := range names {
		t.Logf("| %s | %.2f | %.2f |", name, weights[i], fitted[i])
	}
	t.Logf("| in use | %s |", row(Evaluate(examples, weights)))
	t.Logf("| fitted to all | %s |", row(Evaluate(examples, fitted)))
	for i, name := range names {
		without := slices.Clone(weights)
		without[i] = 0
		t.Logf("| without %s | %s |", name, row(Evaluate(examples, without)))
	}
}

func TestReportCrossValidation(t *testing.T) {
	examples := reportExamples(t)
	_, weights, _ := recall.Cues(recall.Query{}, nil, recall.Options{})
	start := make([]float64, len(weights)) // from nearly nothing, so that a fit owes nothing to the weights in use
	for i, w := range weights {
		start[i] = math.Copysign(0.01, w)
	}
	start[0] = 6 // the scale
	for _, share := range []map[string]float64{shares, {"LoCoMo": 1, "BEAM": 2, "RealMem": 0.2}, {"LoCoMo": 1}, {"BEAM": 1}, {"RealMem": 1}} {
		t.Logf("| %v | %s |", share, row(CrossValidate(examples, share, start)))
	}
}

func TestReportAnswered(t *testing.T) {
	examples := reportExamples(t)
	names, weights, _ := recall.Signals(recall.Query{}, nil, recall.Options{})
	fitted := FitAnswered(examples, even)
	for i, name := range names {
		t.Logf("| %s | %.2f | %.2f |", name, weights[i], fitted[i])
	}
	inUse := chances{}
	inUse.add(examples, weights)
	valid := chances{}
	for fold := range folds {
		in, out := split(examples, fold)
		valid.add(out, FitAnswered(in, even))
	}
	for _, set := range keys(inUse) {
		t.Logf("| %s | AUC %.3f in use, %.3f cross-validated |", set, inUse[set].auc(), valid[set].auc())
	}
	t.Log("bar, and own answered / others refused / precision of refusing, by set, weights in use")
	for _, bar := range []float64{0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5} {
		line := fmt.Sprintf("| %.2f |", bar)
		for _, set := range keys(inUse) {
			answered, refused := inUse[set].at(bar)
			line += fmt.Sprintf(" %s %.3f / %.3f / %.3f |", set, answered, refused, refused/(refused+1-answered))
		}
		t.Log(line)
	}
	t.Log("reliability, cross-validated: chance said, share answered, questions")
	for bin := range 10 {
		line := fmt.Sprintf("| %.1f–%.1f |", float64(bin)/10, float64(bin+1)/10)
		for _, set := range keys(valid) {
			said, was, n := valid[set].bin(bin)
			line += fmt.Sprintf(" %s %.2f %.2f %d |", set, said, was, n)
		}
		t.Log(line)
	}
}

// chances are the chances of being answered that examples of each data set got.
type chances map[string]*chance

type chance struct{ own, others []float64 }

func (c chances) add(examples []Example, w []float64) {
	for i := range examples {
		e := &examples[i]
		if c[e.Dataset] == nil {
			c[e.Dataset] = &chance{}
		}
		if o := c[e.Dataset]; e.Answered {
			o.own = append(o.own, e.answered(w))
		} else {
			o.others = append(o.others, e.answered(w))
		}
	}
}

func (o *chance) auc() float64 { return areaUnderCurve(o.own, o.others) }

// at is the share of own questions answered and of others refused at a bar.
func (o *chance) at(bar float64) (answered, refused float64) {
	for _, p := range o.own {
		if p >= bar {
			answered++
		}
	}
	for _, p := range o.others {
		if p < bar {
			refused++
		}
	}
	return answered / float64(len(o.own)), refused / float64(len(o.others))
}

// bin is the mean chance and the share answered of a tenth of the scale, with as
// many own questions as others'.
func (o *chance) bin(n int) (said, was float64, questions int) {
	for _, p := range o.own {
		if min(9, int(p*10)) == n {
			said, was, questions = said+p, was+1, questions+1
		}
	}
	for _, p := range o.others {
		if min(9, int(p*10)) == n {
			said, questions = said+p, questions+1
		}
	}
	return said / float64(max(1, questions)), was / float64(max(1, questions)), questions
}

// retrieved measures what a target finds of a set, and closes it.
func retrieved(t *testing.T, d *Direct, set Dataset) Report {
	t.Helper()
	report, err := Measured(context.Background(), d, set, RetrievalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return report
}
