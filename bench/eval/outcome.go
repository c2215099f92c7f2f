package eval

import (
	"fmt"
	"math"
	"slices"
)

// Level is what counts as found.
type Level string

// The levels. At that of sessions, a session stands where its best turn does.
const (
	TurnLevel    Level = "turn"
	SessionLevel Level = "session"
)

// Outcome is where the gold of one question stands at one level.
type Outcome struct {
	Set          string   `json:"set"`
	Level        Level    `json:"level"`
	Conversation string   `json:"conversation"`
	Question     string   `json:"question"` // its id
	Category     string   `json:"category"`
	Gold         []string `json:"gold"`
	Ranks        []int    `json:"ranks"` // of each gold from 1 on; 0: not found
	Best         float64  `json:"best"`  // score of the best found; 0: nothing

	conversation int // its place in the data set
}

// How deep a list is looked at.
const (
	recallAt = 10
	mrrAt    = 20
	ndcgAt   = 10
)

var depths = []int{5, 10, 20, 50}

// metrics are the measures of one question, all 0 to 1. any@k: some of the gold is
// among the first k; all@k: all of it is; fraction@k: how much of it is. mrr@20: 1
// over the rank of the first gold among the first 20. ndcg@10: the gain of the
// gold among the first 10, 1/log2(rank+1) each, by that of a list with all of it
// at the top (Järvelin & Kekäläinen 2002, binary gain).
var metrics = metricNames()

func metricNames() []string {
	var names []string
	for _, kind := range []string{"any", "all", "fraction"} {
		for _, k := range depths {
			names = append(names, fmt.Sprintf("%s@%d", kind, k))
		}
	}
	return append(names, "mrr@20", "ndcg@10")
}

// headline are the metrics that people read first.
var headline = []string{"fraction@10", "any@10", "all@10", "mrr@20", "ndcg@10"}

// values returns the metrics of an outcome, in their order.
func (o Outcome) values() []float64 {
	within := func(k int) (n float64) {
		for _, rank := range o.Ranks {
			if rank > 0 && rank <= k {
				n++
			}
		}
		return n
	}
	gold := float64(len(o.Ranks))
	var some, all, fraction []float64
	for _, k := range depths {
		n := within(k)
		some = append(some, min(1, n))
		all = append(all, math.Floor(n/gold))
		fraction = append(fraction, n/gold)
	}
	return append(slices.Concat(some, all, fraction), o.reciprocal(), o.ndcg())
}

func (o Outcome) value(metric string) float64 { return o.values()[slices.Index(metrics, metric)] }

func (o Outcome) reciprocal() float64 {
	var most float64
	for _, rank := range o.Ranks {
		if rank > 0 && rank <= mrrAt {
			most = max(most, 1/float64(rank))
		}
	}
	return most
}

func (o Outcome) ndcg() float64 {
	gain := func(rank int) float64 { return 1 / math.Log2(float64(rank)+1) }
	var got, ideal float64
	for i, rank := range o.Ranks {
		if rank > 0 && rank <= ndcgAt {
			got += gain(rank)
		}
		if i < ndcgAt {
			ideal += gain(i + 1)
		}
	}
	return got / ideal
}

// sessions returns the session of each ref of an owner, by owner's name.
func (r *retrieval) sessions() map[string]map[string]string {
	of := map[string]map[string]string{}
	for i, c := range r.set.Conversations {
		owner, prefix := ownerOf(r.set, i).Name(), ""
		if r.o.Pooled {
			owner, prefix = "", within(i)
		}
		if of[owner] == nil {
			of[owner] = map[string]string{}
		}
		for _, t := range c.Turns {
			of[owner][prefix+t.Ref] = prefix + t.Session
		}
	}
	return of
}

// outcome ranks the gold of a question at a level, if it has any there.
func (r *retrieval) outcome(a *probe, level Level, sessions map[string]map[string]string) (Outcome, bool) {
	c := r.set.Conversations[a.conversation]
	gold := c.gold(a.question, level)
	if len(gold) == 0 {
		return Outcome{}, false
	}
	session, prefix := sessions[a.owner.Name()], ""
	if r.o.Pooled {
		session, prefix = sessions[""], within(a.conversation)
	}
	rank := map[string]int{}
	for _, f := range a.found {
		unit := f.Ref
		if level == SessionLevel {
			unit = session[f.Ref]
		}
		if rank[unit] == 0 {
			rank[unit] = len(rank) + 1
		}
	}
	o := Outcome{
		Set: r.set.Name, Level: level, Conversation: c.Name, Question: a.question.ID, Category: a.question.Category,
		Gold: gold, Ranks: make([]int, len(gold)), Best: best(a.found), conversation: a.conversation,
	}
	if o.Question == "" {
		o.Question = fmt.Sprint(c.Name, ":", a.question.Text)
	}
	for i, g := range gold {
		o.Ranks[i] = rank[prefix+g]
	}
	return o, true
}

// gold returns what answers a question at a level, each once.
func (c Conversation) gold(q Question, level Level) []string {
	switch {
	case level == TurnLevel && c.Sessions:
		return nil
	case level == TurnLevel || c.Sessions:
		return distinct(q.Gold)
	case len(q.Sessions) > 0:
		return distinct(q.Sessions)
	}
	var out []string
	for _, t := range c.Turns {
		if slices.Contains(q.Gold, t.Ref) {
			out = append(out, t.Session)
		}
	}
	return distinct(out)
}
