package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// outcomes returns n questions of each conversation with one gold each, found at
// the rank that rank gives.
func outcomes(conversations, n int, rank func(conversation, i int) int) []Outcome {
	var out []Outcome
	for c := range conversations {
		for i := range n {
			out = append(out, Outcome{
				Set: "made", Level: TurnLevel, Conversation: string(rune('a' + c)), Question: string(rune('0' + i)), Category: "k",
				Gold: []string{"g"}, Ranks: []int{rank(c, i)}, conversation: c,
			})
		}
	}
	return out
}

func TestIntervalHoldsTheValueAndNarrowsWithMoreQuestions(t *testing.T) {
	half := func(_, i int) int { return i % 2 }
	width := func(n int) float64 {
		g := group{outcomes: outcomes(1, n, half)}
		e := g.estimates(false)[0]
		if e.Value != 0.5 || e.Low >= 0.5 || e.High <= 0.5 || e.N != n {
			t.Errorf("%d questions: got %v of %d, want 0.5 within its interval", n, e, e.N)
		}
		return e.High - e.Low
	}
	few, many := width(40), width(640)
	// A mean of coins: ± 1.96 · 0.5/√n.
	for n, got := range map[float64]float64{40: few, 640: many} {
		if want := 1.96 / math.Sqrt(n); got < 0.8*want || got > 1.2*want {
			t.Errorf("interval of %v coins is %.3f wide, want about %.3f", n, got, want)
		}
	}
}

func TestConversationsAreDrawnWholeWhereThereAreEnough(t *testing.T) {
	// All of a conversation is found or nothing is: questions drawn one by one would
	// pretend to a certainty that is not there.
	byTalk := func(c, _ int) int { return c % 2 }
	report := func(conversations int) Report { return Report{Outcomes: outcomes(conversations, 30, byTalk)} }
	many, few := report(10), report(9)
	if !many.Clustered() || few.Clustered() {
		t.Fatalf("10 conversations clustered: %v, 9: %v", many.Clustered(), few.Clustered())
	}
	g := many.groups()[0]
	apart, whole := g.estimates(false)[0], g.estimates(true)[0]
	if whole.High-whole.Low < 3*(apart.High-apart.Low) {
		t.Errorf("conversations %v, questions %v; want a far wider interval for conversations", whole, apart)
	}
}

func TestAbstaining(t *testing.T) {
	list := func(best ...float64) (out []scored) {
		for _, b := range best {
			out = append(out, scored{0, b})
		}
		return out
	}
	a := abstain("x", list(0.9, 0.8, 0, 0.7), list(0, 0, 0, 0.75, 0.1), false)
	// Of 20 pairs: 0.9 and 0.8 above all five, 0.7 above four, 0 level with three.
	if want := (5 + 5 + 4 + 1.5) / 20; a.AUC.Value != want || a.Precision.Value != 0.75 || a.Recall.Value != 0.6 || a.Questions != 5 {
		t.Errorf("got %+v, want AUC %v, precision 0.75, recall 0.6", a, want)
	}
	if a.AUC.Low >= a.AUC.Value || a.AUC.High <= a.AUC.Value || a.AUC.High > 1 {
		t.Errorf("AUC %v is not within its interval", a.AUC)
	}
	never := abstain("x", list(0.9), list(0.5), false)
	if !math.IsNaN(never.Precision.Value) || never.Recall.Value != 0 {
		t.Errorf("precision %v, recall %v where nothing is abstained from; want none and 0", never.Precision, never.Recall)
	}
}

func TestFiguresAreJSONWithAllThatMatters(t *testing.T) {
	r, err := Measured(t.Context(), &parrot{}, twoTalks(), RetrievalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	figures := r.Figures("v1")
	var out bytes.Buffer
	for _, f := range figures {
		if err := json.NewEncoder(&out).Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	row := `{"set":"two","level":"turn","metric":"mrr@20","value":0.5,"low":0.5,"high":0.5,"n":4,"resampled":"questions",` +
		`"repaired":2,"excluded":4,"without_gold":1,"pooled":false,"direct":false,"version":"v1"}` + "\n"
	if !strings.Contains(out.String(), row) {
		t.Errorf("no row\n%sin\n%s", row, out.String())
	}
	// Two levels of all, early and late; against others' questions and its own, but
	// no precision for the former, since none of them is abstained from.
	if want := 2*3*len(metrics) + 2*3 - 1; len(figures) != want {
		t.Errorf("%d rows, want %d", len(figures), want)
	}
}

func TestRunsAreComparedQuestionByQuestion(t *testing.T) {
	before := Report{Outcomes: outcomes(2, 5, func(int, int) int { return 2 })}
	now := Report{Outcomes: outcomes(2, 5, func(c, i int) int {
		if i == 0 {
			return 1
		}
		return 2 + c*2*(i%2)
	})}
	var file bytes.Buffer
	if err := before.WriteOutcomes(&file); err != nil {
		t.Fatal(err)
	}
	earlier, err := ReadOutcomes(&file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := now.Compare(earlier, "before", "v")
	if err != nil {
		t.Fatal(err)
	}
	var mrr Difference
	for _, d := range list {
		if d.Metric == "mrr@20" {
			mrr = d
		}
	}
	// Two questions rise from 1/2 to 1, two fall to 1/4, six stay.
	if want := (2*0.5 - 2*0.25) / 10; math.Abs(mrr.Value-want) > 1e-12 || mrr.Better != 2 || mrr.Worse != 2 || mrr.N != 10 || mrr.Low >= want || mrr.High <= want {
		t.Errorf("got %v, want %v of 10 with 2 better and 2 worse", mrr, want)
	}
	same, err := before.Compare(earlier, "before", "v")
	if err != nil || same[0].Value != 0 || same[0].Low != 0 || same[0].High != 0 {
		t.Errorf("a run beside itself gives %v, %v", same, err)
	}
	before.Outcomes[0].Gold = []string{"other"} // the data set was repaired since
	list, err = before.Compare(earlier, "before", "v")
	if err != nil || list[0].N != 9 {
		t.Errorf("a question with other gold is compared: %v, %v", list, err)
	}
	if _, err := before.Compare(nil, "before", "v"); !errors.Is(err, memory.Invalid) {
		t.Errorf("nothing to compare gives %v", err)
	}
}

func TestOtherFilesAreNoEarlierRun(t *testing.T) {
	for _, s := range []string{"x", "{}", `{"question":"q","gold":["a"],"ranks":[]}`} {
		if out, err := ReadOutcomes(strings.NewReader(s)); !errors.Is(err, memory.Invalid) {
			t.Errorf("%s is read as %v, %v", s, out, err)
		}
	}
	if out, err := ReadOutcomes(strings.NewReader("")); err != nil || !reflect.DeepEqual(out, []Outcome(nil)) {
		t.Errorf("an empty file gives %v, %v", out, err)
	}
}

func TestReportSaysWhatItRestsOn(t *testing.T) {
	r, err := Measured(t.Context(), &parrot{}, twoTalks(), RetrievalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := r.String()
	for _, want := range []string{
		"two: 2 conversations, each an owner of its own; 4 questions",
		"2 ids repaired, 4 excluded; 1 questions without gold",
		"1000 resamples of questions",
		"turns", "sessions", "  early", "0.500 [0.500, 0.500]", "put to another conversation", "unanswerable in the data set",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
