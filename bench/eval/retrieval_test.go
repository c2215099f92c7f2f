package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestMetricsOfRanks(t *testing.T) {
	for _, test := range []struct {
		ranks []int
		want  map[string]float64
	}{
		{[]int{1}, map[string]float64{"recall@10": 1, "mrr@20": 1}},
		{[]int{0}, map[string]float64{"recall@10": 0, "mrr@20": 0}},
		{[]int{3, 1, 5}, map[string]float64{"recall@10": 1, "mrr@20": 1}},
		{[]int{6, 0, 10, 11}, map[string]float64{"recall@10": 0.5, "mrr@20": 1. / 6}},
		{[]int{20, 50}, map[string]float64{"recall@10": 0, "mrr@20": 0.05}},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, map[string]float64{"recall@10": 10. / 12}},
	} {
		for _, m := range metrics {
			if want, ok := test.want[m.name]; ok && math.Abs(m.of(test.ranks)-want) > 1e-12 {
				t.Errorf("%s of gold at %v = %v, want %v", m.name, test.ranks, m.of(test.ranks), want)
			}
		}
	}
}

// parrot finds an owner's turns that share a word with the question, in chronological order.
type parrot struct {
	mu    sync.Mutex
	turns map[memory.Owner][]Turn
	asked []string // owner, number of turns so far, and question
}

func (p *parrot) Ingest(_ context.Context, owner memory.Owner, turns []Turn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turns == nil {
		p.turns = map[memory.Owner][]Turn{}
	}
	p.turns[owner] = append(p.turns[owner], turns...)
	return nil
}

func (p *parrot) Search(_ context.Context, owner memory.Owner, question string, k int) (out []Found, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, fmt.Sprintf("%s %d %s", owner.Name(), len(p.turns[owner]), question))
	for _, t := range p.turns[owner] {
		if slices.ContainsFunc(strings.Fields(question), func(w string) bool { return slices.Contains(strings.Fields(t.Content), w) }) {
			out = append(out, Found{t.Ref, 1 / float64(len(out)+1)})
		}
	}
	return out[:min(k, len(out))], nil
}

// twoTalks has two conversations with equal refs, a session per two turns, and a question after half of the
// turns.
func twoTalks() Dataset {
	set := Dataset{Name: "two"}
	for _, who := range []string{"Mira", "Bela"} {
		c := Conversation{Name: who}
		for n, content := range []string{"tea", "boat tea", "tea", "boat " + who} {
			c.Turns = append(c.Turns, Turn{Ref: fmt.Sprint(n), Session: fmt.Sprint("s", n/2), Name: who, Content: content})
		}
		c.Questions = []Question{
			{ID: "all", Text: "boat " + who, Category: "late", Gold: []string{"3"}},
			{ID: "half", Text: "tea", Category: "early", Gold: []string{"1"}, Before: 2},
			{ID: "never", Text: "car", Unanswerable: true},
		}
		set.Conversations = append(set.Conversations, c)
	}
	return set
}

func TestQuestionsAreAskedAtTheirTime(t *testing.T) {
	p := &parrot{}
	r, err := Measured(t.Context(), p, twoTalks(), false, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"two-0 2 tea", "two-0 4 boat Mira", "two-0 4 car",
		"two-1 2 tea", "two-1 4 boat Bela", "two-1 4 car",
		"two-1 4 boat Bela", "two-1 4 tea", "two-0 4 boat Mira", "two-0 4 tea", // another's, its names swapped in
	}
	if !reflect.DeepEqual(p.asked, want) {
		t.Errorf("asked %q, want %q", p.asked, want)
	}
	ranks := map[string][]int{}
	for _, p := range r.probes {
		for level, at := range p.ranks {
			ranks[level+" "+r.Set.Conversations[p.conversation].Name+" "+p.ID] = at
		}
	}
	wantRanks := map[string][]int{
		"turns Mira all": {2}, "turns Mira half": {2}, "turns Bela all": {2}, "turns Bela half": {2},
		"sessions Mira all": {2}, "sessions Mira half": {1}, "sessions Bela all": {2}, "sessions Bela half": {1},
	}
	if !reflect.DeepEqual(ranks, wantRanks) {
		t.Errorf("ranks %v, want %v", ranks, wantRanks)
	}
	if r.All.Questions != 4 || r.All.MRR != 0.5 || r.Of(TurnLevel, "early").Questions != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestPooledQuestionsAreAskedAfterAllTurns(t *testing.T) {
	p := &parrot{}
	r, err := Measured(t.Context(), p, twoTalks(), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"two-pooled 8 boat Mira", "two-pooled 8 tea", "two-pooled 8 car", "two-pooled 8 boat Bela", "two-pooled 8 tea", "two-pooled 8 car",
	}
	if !reflect.DeepEqual(p.asked, want) {
		t.Errorf("asked %q, want %q", p.asked, want)
	}
	// The turns are: tea, boat tea, tea, boat Mira, and the same of Bela.
	want2 := map[string][][]int{TurnLevel: {{2}, {2}, {4}, {5}}, SessionLevel: {{2}, {1}, {4}, {3}}}
	for level, want := range want2 {
		if got, _ := r.ranks(level, ""); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: gold at %v, want %v", level, got, want)
		}
	}
	if r.Refusal != 0 {
		t.Errorf("refusal %v, want nobody else to ask", r.Refusal)
	}
}

func TestFiguresDoNotDependOnTheOrderOfWork(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		var want string
		for _, workers := range []int{1, 2, 16} {
			got, err := Measured(t.Context(), &parrot{}, generated(), pooled, workers)
			if err != nil {
				t.Fatal(err)
			}
			if workers == 1 {
				want = table(got)
			}
			if table(got) != want {
				t.Errorf("pooled %v: %d workers measure otherwise than 1", pooled, workers)
			}
		}
	}
}

// broken fails every search.
type broken struct{ parrot }

func (b *broken) Search(context.Context, memory.Owner, string, int) ([]Found, error) {
	return nil, errBroken
}

var errBroken = errors.New("out of order")

func TestFailingTargetEndsTheRun(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		if _, err := Measured(t.Context(), &broken{}, generated(), pooled, Workers); !errors.Is(err, errBroken) {
			t.Errorf("pooled %v: got %v, want what the target said", pooled, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measured(ctx, &parrot{}, generated(), false, Workers); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run ends with %v", err)
	}
}
