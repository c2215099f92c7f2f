package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/config"
)

// Models name what was measured, as the settings do.
type Models struct{ Embedder, Reranker string }

// ModelsOf names the models of settings, where the embedder is chosen.
func ModelsOf(c config.Config) Models { return Models{c.Embedder, c.Reranker} }

// String is the line that people read.
func (m Models) String() string {
	return fmt.Sprintf("embedder %s, reranker %s", m.Embedder, m.Reranker)
}

// The levels at which gold is looked for. At that of sessions, a session stands where its best turn
// does.
const (
	TurnLevel    = "turns"
	SessionLevel = "sessions"
)

// metrics are the measures of one question by the ranks of its gold, from 1 on, 0 for what was not
// found. recall@10: how much of the gold is among the first 10. mrr@20: 1 over the rank of the first
// gold among the first 20. ndcg@10: the gain of the gold among the first 10, 1/log2(rank+1) each, by
// that of a list with all of it at the top (Järvelin & Kekäläinen 2002, binary gain).
var metrics = []struct {
	name string
	of   func(ranks []int) float64
}{{"recall@10", recallOf}, {"mrr@20", reciprocalOf}, {"ndcg@10", ndcgOf}}

// among reports whether a rank is one of the first so many.
func among(rank, most int) bool { return rank > 0 && rank <= most }

func recallOf(ranks []int) float64 {
	found := 0
	for _, rank := range ranks {
		found += count(among(rank, 10))
	}
	return quotient(found, len(ranks))
}

func reciprocalOf(ranks []int) (most float64) {
	for _, rank := range ranks {
		if among(rank, 20) {
			most = max(most, 1/float64(rank))
		}
	}
	return most
}

func ndcgOf(ranks []int) float64 {
	gain := func(rank int) float64 { return 1 / math.Log2(float64(rank)+1) }
	var got, ideal float64
	for i, rank := range ranks {
		if among(rank, 10) {
			got += gain(rank)
		}
		if i < 10 {
			ideal += gain(i + 1)
		}
	}
	return got / ideal
}

// Measure is the means of a group of questions.
type Measure struct {
	Questions   int
	Recall, MRR float64 // recall@10, mrr@20
}

func meanOf(ranks [][]int) (m Measure) {
	for _, r := range ranks {
		m.Recall += recallOf(r)
		m.MRR += reciprocalOf(r)
	}
	n := float64(max(1, len(ranks)))
	return Measure{len(ranks), m.Recall / n, m.MRR / n}
}

// Report is how a target did on a data set.
type Report struct {
	Set    Dataset
	probes []*probe

	// All is of the data set's own level: turns, or sessions where it names no turns.
	All Measure
	// Refusal is how well the best score tells a conversation's own questions from another's: the
	// area under the curve, 0.5 for chance. 0 where pooled.
	Refusal float64
	// Answered is the share of own questions for which anything was found, Refused that of another's
	// questions for which nothing was.
	Answered, Refused float64
}

func (r *retrieval) report() Report {
	session := map[string]string{} // of a turn, by owner and ref
	key := func(owner, ref string) string { return owner + "\x00" + ref }
	for _, s := range r.ingested {
		for _, t := range s.turns {
			session[key(s.owner.Name(), t.Ref)] = t.Session
		}
	}
	out := Report{Set: r.set, probes: r.probes}
	for _, p := range r.probes {
		c, turns, sessions := r.set.Conversations[p.conversation], []string(nil), []string(nil)
		for _, f := range p.found {
			turns = append(turns, f.Ref)
			sessions = append(sessions, session[key(p.owner.Name(), f.Ref)])
		}
		if p.answerable() && !c.Sessions {
			p.ranks[TurnLevel] = ranksOf(turns, p.prefix, p.Gold)
		}
		if p.answerable() {
			p.ranks[SessionLevel] = ranksOf(sessions, p.prefix, c.goldSessions(p.Question))
		}
	}
	level := TurnLevel
	if ranks, _ := out.ranks(level, ""); len(ranks) == 0 {
		level = SessionLevel
	}
	out.All = out.Of(level, "")
	own, foreign := out.scores((*probe).answerable), out.scores(func(p *probe) bool { return p.foreign })
	out.Refusal = areaUnderCurve(own, foreign)
	out.Answered, out.Refused = 1-silent(own), silent(foreign)
	return out
}

// ranksOf returns the place of each gold, from 1 on, among what was found without repeats; 0 if it was
// not.
func ranksOf(found []string, prefix string, gold []string) (ranks []int) {
	rank := map[string]int{}
	for _, unit := range found {
		if rank[unit] == 0 {
			rank[unit] = len(rank) + 1
		}
	}
	for _, g := range gold {
		ranks = append(ranks, rank[prefix+g])
	}
	return ranks
}

// goldSessions returns the sessions that answer a question, each once.
func (c Conversation) goldSessions(q Question) (out []string) {
	switch {
	case c.Sessions:
		return q.Gold
	case len(q.Sessions) > 0:
		return q.Sessions
	}
	for _, t := range c.Turns {
		if slices.Contains(q.Gold, t.Ref) {
			out = append(out, t.Session)
		}
	}
	return distinct(out)
}

// scores returns the best scores of some questions.
func (r Report) scores(of func(*probe) bool) (out []float64) {
	for _, p := range r.probes {
		if of(p) {
			out = append(out, p.best())
		}
	}
	return out
}

// ranks returns those of each question of a level and category, "" for all, and its conversation.
func (r Report) ranks(level, category string) (ranks [][]int, of []int) {
	for _, p := range r.probes {
		if len(p.ranks[level]) > 0 && (category == "" || p.Category == category) {
			ranks, of = append(ranks, p.ranks[level]), append(of, p.conversation)
		}
	}
	return ranks, of
}

// Of returns the means of a level and category, "" for all.
func (r Report) Of(level, category string) Measure {
	ranks, _ := r.ranks(level, category)
	return meanOf(ranks)
}

// Clustered reports whether intervals are from resampled conversations, not questions.
func (r Report) Clustered() bool {
	_, of := r.ranks(SessionLevel, "")
	return report.Enough(of)
}

// Rows returns all measures: of each level and category, and of refusing.
func (r Report) Rows() (rows []report.Row) {
	categories := map[string]bool{"": true}
	for _, p := range r.probes {
		categories[p.Category] = categories[p.Category] || p.answerable()
	}
	for _, level := range []string{TurnLevel, SessionLevel} {
		for _, category := range sortedKeys(categories) {
			if ranks, of := r.ranks(level, category); len(ranks) > 0 {
				rows = append(rows, r.row(level, category, ranks, of))
			}
		}
	}
	rows = append(rows, r.refusing("put to another conversation", func(p *probe) bool { return p.foreign })...)
	rows = append(rows, r.refusing("unanswerable in the data set", func(p *probe) bool { return p.Unanswerable })...)
	answered := report.Number("answered", "%.3f", r.Answered)
	return append(rows, report.Row{Part: "own questions", Name: "that get an answer", Cells: []report.Cell{answered}})
}

func (r Report) row(level, category string, ranks [][]int, of []int) report.Row {
	draws := report.Single(len(of))
	if r.Clustered() {
		draws = report.Whole(of)
	}
	row := report.Row{Part: level, Name: "all", N: len(ranks)}
	if category != "" {
		row.Name = "  " + category
	}
	for _, m := range metrics {
		values := make([]float64, len(ranks))
		for i := range ranks {
			values[i] = m.of(ranks[i])
		}
		row.Cells = append(row.Cells, report.Share(m.name, draws.Mean(values)))
	}
	return row
}

// refusing compares a conversation's own questions with others that cannot be answered, if there are
// any. A question is refused where nothing is found for it at all, which the target's own threshold
// decides. Precision is the share of the refused questions that cannot be answered, recall that of
// those which were refused.
func (r Report) refusing(against string, others func(*probe) bool) []report.Row {
	all, n := r.scores((*probe).answerable), len(r.scores((*probe).answerable))
	all = append(all, r.scores(others)...)
	if n == 0 || n == len(all) {
		return nil
	}
	draws := report.Single(n, len(all)-n)
	if r.Clustered() {
		var of []int
		for _, is := range []func(*probe) bool{(*probe).answerable, others} {
			for _, p := range r.probes {
				if is(p) {
					of = append(of, p.conversation)
				}
			}
		}
		draws = report.Whole(of)
	}
	split := func(rows []int) (own, other []float64) {
		for _, row := range rows {
			if row < n {
				own = append(own, all[row])
			} else {
				other = append(other, all[row])
			}
		}
		return own, other
	}
	auc := draws.Estimate(func(rows []int) float64 {
		own, other := split(rows)
		if len(own) == 0 || len(other) == 0 {
			return math.NaN()
		}
		return areaUnderCurve(own, other)
	})
	precision := draws.Estimate(func(rows []int) float64 {
		own, other := split(rows)
		wrongly, rightly := silent(own)*float64(len(own)), silent(other)*float64(len(other))
		return rightly / (wrongly + rightly)
	})
	recall := draws.Estimate(func(rows []int) float64 {
		_, other := split(rows)
		return silent(other)
	})
	return []report.Row{{Part: "refusing questions", Name: against, N: len(all) - n, Cells: []report.Cell{
		report.Share("AUC", auc), report.Share("precision", precision), report.Share("recall", recall),
	}}}
}

// silent is the share of best scores that are those of finding nothing.
func silent(scores []float64) float64 {
	none := 0
	for _, s := range scores {
		none += count(s == 0)
	}
	return quotient(none, len(scores))
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// quotient is 0 where there is nothing to divide by.
func quotient(n, of int) float64 { return float64(n) / float64(max(1, of)) }

// areaUnderCurve returns the chance that a random one of high is above a random one of low, ties
// counting half; 0 if there is none of either.
func areaUnderCurve(high, low []float64) float64 {
	if len(high) == 0 || len(low) == 0 {
		return 0
	}
	low = slices.Sorted(slices.Values(low))
	var sum float64
	for _, x := range high {
		below, _ := slices.BinarySearch(low, x)
		through, _ := slices.BinarySearch(low, math.Nextafter(x, math.Inf(1)))
		sum += float64(below+through) / 2
	}
	return sum / float64(len(high)) / float64(len(low))
}
