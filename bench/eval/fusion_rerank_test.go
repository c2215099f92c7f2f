package eval

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// reader is a cross-encoder made for measuring: of a pair it sees a number that lies
// apart by so many standard deviations for answers and for others, and says the log-odds
// that follow from it, times how sure it is of itself. 1 is as sure as it may be;
// published ones say far more than they know.
type reader struct {
	apart, sure float64
}

// says returns what it says of a pair, as 0 to 1.
func (r reader) says(question, text string, answers bool) float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(question + "\x00" + text))
	sees := rand.New(rand.NewPCG(h.Sum64(), 2)).NormFloat64()
	if answers {
		sees += r.apart
	}
	const prior = -3 // of some twenty, one answers
	d := max(math.Abs(r.apart), 0.5)
	logit := r.sure * (d*(sees-d/2) + prior)
	return float32(1 / (1 + math.Exp(-logit)))
}

// reread is one question with the candidates that a reranker would be shown.
type reread struct {
	query    recall.Query
	text     string
	cands    []memory.Candidate
	shown    []string
	gold     []string
	contents map[string]string
}

const rereadPairs = 24

// rereads returns the questions of each conversation, ranked without a reranker.
func rereads(t *testing.T, set Dataset) [][]reread {
	t.Helper()
	ctx := context.Background()
	d := &Direct{}
	defer d.Close()
	none := 0.0
	var out [][]reread
	for n, c := range set.Conversations {
		owner := memory.User("bench", strconv.Itoa(n))
		if err := d.Ingest(ctx, owner, c.Turns); err != nil {
			t.Fatal(err)
		}
		contents := map[string]string{}
		for _, turn := range c.Turns {
			contents[turn.Ref] = turn.Content
		}
		var of []reread
		for _, q := range c.Questions {
			if len(q.Gold) == 0 {
				continue
			}
			query, cands, err := d.Candidates(ctx, owner, q.Text)
			if err != nil {
				t.Fatal(err)
			}
			best, _ := recall.Rank(query, cands, recall.Options{Limit: rereadPairs, Threshold: &none}, d.now())
			one := reread{query: query, text: q.Text, cands: cands, gold: q.Gold, contents: contents}
			for _, b := range best {
				one.shown = append(one.shown, b.ID)
			}
			of = append(of, one)
		}
		out = append(out, of)
	}
	return out
}

// mrr is the mean reciprocal rank among the first twenty, with what a reader says times
// so much; 0: without one.
func mrr(questions []reread, r reader, times float64) float64 {
	none, sum := 0.0, 0.0
	for _, q := range questions {
		o := recall.Options{Threshold: &none}
		if times > 0 {
			o.Reranked = map[string]float32{}
			r.sure *= times
			for _, id := range q.shown {
				o.Reranked[id] = r.says(q.text, q.contents[id], slices.Contains(q.gold, id))
			}
			r.sure /= times
		}
		kept, _ := recall.Rank(q.query, q.cands, o, (&Direct{}).now())
		for i, c := range kept {
			if slices.Contains(q.gold, c.ID) {
				sum += 1 / float64(i+1)
				break
			}
		}
	}
	return sum / float64(len(questions))
}

// A good reranker gains and one by chance loses little by the weight that it has. Saying
// everything times more or less is another weight: where what a reranker says is as sure
// as it may be, all other conversations choose, for each, the weight that there is.
func TestTheWeightOfARerankerIsTheOneThatOthersChoose(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	sets := rereads(t, devSets(t)[0])
	weights := []float64{0, 0.5, 1, 2} // times the one there is
	const without, asItIs = 0, 2
	for _, c := range []struct {
		name string
		reader
		gain float64 // of MRR@20, at least
		sure bool    // no more than it may be
	}{
		{"excellent", reader{3, 1}, 0.2, true},
		{"good", reader{2, 1}, 0.12, true},
		{"fair", reader{1, 1}, 0.03, true},
		{"faint", reader{0.5, 1}, 0.005, false},
		{"good, twice too sure", reader{2, 2}, 0.1, false},
		{"fair, twice too sure", reader{1, 2}, 0.01, false},
		{"good, a quarter as sure", reader{2, 0.25}, 0.04, false},
		{"chance", reader{0, 1}, -0.01, false},
		{"chance, twice as loud", reader{0, 2}, -0.05, false},
		{"wrong", reader{-0.5, 1}, -0.035, false},
	} {
		by := make([][]float64, len(weights)) // of each weight, each conversation's
		for i, w := range weights {
			for _, questions := range sets {
				by[i] = append(by[i], mrr(questions, c.reader, w))
			}
		}
		gain := mean(by[asItIs]) - mean(by[without])
		chosen := map[float64]int{}
		validated := 0.0
		for out := range sets {
			best := slices.MaxFunc([]int{0, 1, 2, 3}, func(a, b int) int { return cmp.Compare(meanBut(by[a], out), meanBut(by[b], out)) })
			chosen[weights[best]]++
			validated += by[best][out] / float64(len(sets))
		}
		t.Logf("%-22s MRR@20 %+.3f, at half the weight %+.3f, at twice %+.3f; others choose %v: %+.3f", c.name, gain,
			mean(by[1])-mean(by[without]), mean(by[3])-mean(by[without]), chosen, validated-mean(by[without]))
		if gain < c.gain {
			t.Errorf("%s: MRR@20 %+.3f, want at least %+.3f", c.name, gain, c.gain)
		}
		if c.sure && chosen[1] != len(sets) {
			t.Errorf("%s: others choose %v times the weight, want 1 for each of %d conversations", c.name, chosen, len(sets))
		}
	}
}

// meanBut is the mean of all values but one.
func meanBut(v []float64, but int) float64 {
	return mean(slices.Delete(slices.Clone(v), but, but+1))
}

func mean(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
