package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/config"
)

// Models are the names of the measured models.
type Models struct{ Embedder, Reranker string }

// ModelsOf returns the models of settings after the embedder is chosen.
func ModelsOf(c config.Config) Models { return Models{c.Embedder, c.Reranker} }

// String returns a line for people.
func (m Models) String() string {
	return fmt.Sprintf("embedder %s, reranker %s", m.Embedder, m.Reranker)
}

// Levels of gold. At the level of sessions, a session has the rank of its best turn.
const (
	TurnLevel    = "turns"
	SessionLevel = "sessions"
)

// metrics are the measures of a question by the ranks of its gold, from 1, 0 if not found: recall@10 is the share of
// gold among the first 10, mrr@20 is 1 over the rank of the first gold among the first 20.
var metrics = []struct {
	name string
	of   func(ranks []int) float64
}{{"recall@10", recallOf}, {"mrr@20", reciprocalOf}}

// among reports whether a rank is among the first most.
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

// Report has the results of a target on a data set.
type Report struct {
	Set    Dataset
	probes []*probe

	// All is at the data set's own level: turns, or sessions if gold is sessions.
	All Measure
	// Refusal is the area under the curve of the best score as a classifier of own and foreign questions: 0.5 is
	// chance, and 0 means pooled.
	Refusal float64
	// Answered is the share of own questions with a result, Refused that of foreign questions without.
	Answered, Refused float64
}

func (r *retrieval) report() Report {
	out := Report{Set: r.set, probes: r.probes}
	for _, p := range r.probes {
		if !p.answerable() {
			continue
		}
		c, turns, sessions := r.set.Conversations[p.conversation], []string(nil), []string(nil)
		for _, f := range p.found {
			turns, sessions = append(turns, f.Ref), append(sessions, r.session[p.owner.Name()+"\x00"+f.Ref])
		}
		p.ranks[SessionLevel] = ranksOf(sessions, p.prefix, c.goldSessions(p.Question))
		if !c.Sessions {
			p.ranks[TurnLevel] = ranksOf(turns, p.prefix, p.Gold)
		}
	}
	if out.All = out.Of(TurnLevel, ""); out.All.Questions == 0 {
		out.All = out.Of(SessionLevel, "")
	}
	own, _ := out.scores((*probe).answerable)
	foreign, _ := out.scores(func(p *probe) bool { return p.foreign })
	out.Refusal = areaUnderCurve(own, foreign)
	out.Answered, out.Refused = 1-silent(own), silent(foreign)
	return out
}

// ranksOf returns the rank of each gold, from 1, among the distinct results, 0 if not found.
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

// goldSessions returns the sessions with the answer, without duplicates.
func (c Conversation) goldSessions(q Question) (out []string) {
	if c.Sessions {
		return q.Gold
	}
	for _, t := range c.Turns {
		if slices.Contains(q.Gold, t.Ref) {
			out = append(out, t.Session)
		}
	}
	return distinct(out)
}

// scores returns the best scores of some questions, 0 without results, and their conversations.
func (r Report) scores(is func(*probe) bool) (scores []float64, of []int) {
	for _, p := range r.probes {
		if is(p) {
			best := append(p.found, Found{})[0].Score
			scores, of = append(scores, best), append(of, p.conversation)
		}
	}
	return scores, of
}

// ranks returns the ranks of the questions of a level and category, "" for all, and their conversations.
func (r Report) ranks(level, category string) (ranks [][]int, of []int) {
	for _, p := range r.probes {
		if len(p.ranks[level]) > 0 && (category == "" || p.Category == category) {
			ranks, of = append(ranks, p.ranks[level]), append(of, p.conversation)
		}
	}
	return ranks, of
}

// Of returns the mean measures of a level and category, "" for all.
func (r Report) Of(level, category string) Measure {
	ranks, _ := r.ranks(level, category)
	return meanOf(ranks)
}

// Rows returns all measures, by level and category, and of refusals.
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
	row := report.Row{Part: level, Name: "  " + category, N: len(ranks)}
	if category == "" {
		row.Name = "all"
	}
	for _, m := range metrics {
		values := make([]float64, len(ranks))
		for i := range ranks {
			values[i] = m.of(ranks[i])
		}
		row.Cells = append(row.Cells, report.Share(m.name, report.DrawsOf(of).Mean(values)))
	}
	return row
}

// refusing compares own questions with unanswerable ones, if any. A question without results is refused. Precision is
// the share of unanswerable questions among the refused, recall the share of refused among the unanswerable.
func (r Report) refusing(against string, others func(*probe) bool) []report.Row {
	own, of := r.scores((*probe).answerable)
	other, ofOther := r.scores(others)
	if len(own) == 0 || len(other) == 0 {
		return nil
	}
	draws, all := report.DrawsOf(of, ofOther), slices.Concat(own, other)
	share := func(metric string, statistic func(own, other []float64) float64) report.Cell {
		return report.Share(metric, draws.Estimate(func(rows []int) float64 {
			var drawn [2][]float64
			for _, row := range rows {
				i := count(row >= len(own))
				drawn[i] = append(drawn[i], all[row])
			}
			return statistic(drawn[0], drawn[1])
		}))
	}
	precision := func(own, other []float64) float64 {
		wrongly, rightly := silent(own)*float64(len(own)), silent(other)*float64(len(other))
		return rightly / (wrongly + rightly)
	}
	return []report.Row{{Part: "refusing questions", Name: against, N: len(other), Cells: []report.Cell{
		share("AUC", areaUnderCurve), share("precision", precision),
		share("recall", func(_, other []float64) float64 { return silent(other) }),
	}}}
}

// silent returns the share of questions without results.
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

// quotient returns n/of, or n if of is 0.
func quotient(n, of int) float64 { return float64(n) / float64(max(1, of)) }

// areaUnderCurve returns the probability that a random score of high is above one of low, with ties as half, 0 if
// either is empty.
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
