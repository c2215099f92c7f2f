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
	// 1/log2(rank+1) for the ranks that stand in the cases.
	at := map[int]float64{1: 1, 2: 0.6309297535714575, 3: 0.5, 5: 0.38685280723454163, 10: 0.2890648263178879}
	for _, test := range []struct {
		ranks []int
		want  map[string]float64
	}{
		{[]int{1}, map[string]float64{"any@5": 1, "all@5": 1, "fraction@5": 1, "mrr@20": 1, "ndcg@10": 1}},
		{[]int{0}, map[string]float64{"any@50": 0, "all@50": 0, "fraction@50": 0, "mrr@20": 0, "ndcg@10": 0}},
		{[]int{3, 1, 5}, map[string]float64{"any@5": 1, "all@5": 1, "mrr@20": 1, "ndcg@10": (1 + at[3] + at[5]) / (1 + at[2] + at[3])}},
		{[]int{6, 0, 10, 11}, map[string]float64{
			"any@5": 0, "any@10": 1, "fraction@5": 0, "fraction@10": 0.5, "fraction@20": 0.75, "all@50": 0, "mrr@20": 1. / 6,
		}},
		{[]int{20, 50}, map[string]float64{"fraction@10": 0, "fraction@20": 0.5, "all@20": 0, "all@50": 1, "mrr@20": 0.05, "ndcg@10": 0}},
		{[]int{21, 51}, map[string]float64{"any@20": 0, "fraction@50": 0.5, "mrr@20": 0}},
		{[]int{10, 11}, map[string]float64{"ndcg@10": at[10] / (1 + at[2])}},
		// More gold than places: the ideal list is full at ten.
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, map[string]float64{"ndcg@10": 1, "fraction@10": 10. / 12, "all@10": 0, "all@20": 1}},
	} {
		o := Outcome{Ranks: test.ranks, Gold: make([]string, len(test.ranks))}
		for metric, want := range test.want {
			if got := o.value(metric); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s of gold at %v = %v, want %v", metric, test.ranks, got, want)
			}
		}
	}
}

// parrot finds the turns of an owner that share a word with the question, in the
// order they were said.
type parrot struct {
	mu    sync.Mutex
	turns map[memory.Owner][]Turn
	asked []string // owner, number of turns known, and question
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

// twoTalks have equal refs, a session each for every two turns, and one question
// that is asked when half is known.
func twoTalks() Dataset {
	set := Dataset{Name: "two"}
	for i, who := range []string{"Mira", "Bela"} {
		c := Conversation{Name: who}
		for n, content := range []string{"tea", "boat tea", "tea", "boat " + who} {
			c.Turns = append(c.Turns, Turn{Ref: fmt.Sprint(n), Session: fmt.Sprint("s", n/2), Name: who, Content: content})
		}
		c.Questions = []Question{
			{ID: "all", Text: "boat " + who, Category: "late", Gold: []string{"3"}},
			{ID: "half", Text: "tea", Category: "early", Gold: []string{"1", "1"}, Before: 2},
		}
		c.Unanswerable = []Question{{ID: "never", Text: "car"}}
		c.Repaired, c.Excluded, c.WithoutGold = 1, 2, i
		set.Conversations = append(set.Conversations, c)
	}
	return set
}

func TestEachConversationIsAskedWhenItsTimeHasCome(t *testing.T) {
	p := &parrot{}
	r, err := Measured(t.Context(), p, twoTalks(), RetrievalOptions{Workers: 1})
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
	for _, o := range r.Outcomes {
		ranks[string(o.Level)+" "+o.Conversation+" "+o.Question] = o.Ranks
	}
	wantRanks := map[string][]int{
		"turn Mira all": {2}, "turn Mira half": {2}, "turn Bela all": {2}, "turn Bela half": {2},
		"session Mira all": {2}, "session Mira half": {1}, "session Bela all": {2}, "session Bela half": {1},
	}
	if !reflect.DeepEqual(ranks, wantRanks) {
		t.Errorf("ranks %v, want %v", ranks, wantRanks)
	}
	if r.Repaired != 2 || r.Excluded != 4 || r.WithoutGold != 1 || r.All.Questions != 4 || r.All.MRR != 0.5 || r.Categories["early"].Questions != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestPooledConversationsGrowSideBySide(t *testing.T) {
	p := &parrot{}
	r, err := Measured(t.Context(), p, twoTalks(), RetrievalOptions{Pooled: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"two-pooled 4 tea", "two-pooled 4 tea",
		"two-pooled 8 boat Mira", "two-pooled 8 car", "two-pooled 8 boat Bela", "two-pooled 8 car",
	}
	if !reflect.DeepEqual(p.asked, want) {
		t.Errorf("asked %q, want %q", p.asked, want)
	}
	// Said so far: tea, boat tea of Mira, the same of Bela, then the rest of each.
	wantRanks := [][]int{{3}, {2}, {4}, {4}, {3}, {1}, {4}, {2}}
	for i, o := range r.Outcomes {
		if !reflect.DeepEqual(o.Ranks, wantRanks[i]) || strings.Contains(o.Gold[0], "/") {
			t.Errorf("%s %s %s: gold %v at %v, want %v", o.Level, o.Conversation, o.Question, o.Gold, o.Ranks, wantRanks[i])
		}
	}
	if len(r.Outcomes) != len(wantRanks) || r.Refusal != 0 {
		t.Errorf("got %d outcomes, refusal %v; want %d and nobody else to ask", len(r.Outcomes), r.Refusal, len(wantRanks))
	}
}

func TestFiguresDoNotDependOnTheOrderOfWork(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		var want Report
		for _, workers := range []int{1, 2, 16} {
			got, err := Measured(t.Context(), &parrot{}, generated(), RetrievalOptions{Pooled: pooled, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if workers == 1 {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("pooled %v: %d workers measure otherwise than 1", pooled, workers)
			}
		}
	}
}

func TestSessionsAreGoldByName(t *testing.T) {
	set := twoTalks()
	set.Conversations = set.Conversations[:1]
	c := &set.Conversations[0]
	c.Questions = []Question{{ID: "named", Text: "boat", Sessions: []string{"s1"}}, {ID: "both", Text: "boat", Gold: []string{"1"}, Sessions: []string{"s1", "s1"}}}
	r, err := Measured(t.Context(), &parrot{}, set, RetrievalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range r.Outcomes {
		got = append(got, fmt.Sprint(o.Level, " ", o.Question, " ", o.Gold, o.Ranks))
	}
	want := []string{"turn both [1] [1]", "session named [s1] [2]", "session both [s1] [2]"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// broken fails every search.
type broken struct{ parrot }

func (b *broken) Search(context.Context, memory.Owner, string, int) ([]Found, error) {
	return nil, errBroken
}

var errBroken = errors.New("out of order")

func TestATargetThatFailsEndsTheRun(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		if _, err := Measured(t.Context(), &broken{}, generated(), RetrievalOptions{Pooled: pooled}); !errors.Is(err, errBroken) {
			t.Errorf("pooled %v: got %v, want what the target said", pooled, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measured(ctx, &parrot{}, generated(), RetrievalOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run ends with %v", err)
	}
}
