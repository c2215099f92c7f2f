package eval

import (
	"math"
	"slices"
)

// What questions that cannot be answered are.
const (
	PutToAnother     = "put to another conversation"
	UnanswerableHere = "unanswerable in the data set"
)

// Abstention is how well a target keeps silent on questions that cannot be
// answered. A question is abstained from where nothing is found for it at all,
// which the target's own threshold decides.
type Abstention struct {
	Against   string // PutToAnother or UnanswerableHere
	Questions int    // that cannot be answered

	// AUC is the chance that the best score of an answerable question is above that
	// of an unanswerable one, ties counting half: 0.5 for guessing.
	AUC Estimate
	// Precision is the share of the abstained questions that cannot be answered, not
	// a number where none was abstained from; Recall the share of those that cannot
	// be answered that were abstained from.
	Precision, Recall Estimate
}

// scored is a question's best score and the conversation it belongs to.
type scored struct {
	conversation int
	best         float64
}

func bests(asks []*probe) []scored {
	out := make([]scored, len(asks))
	for i, a := range asks {
		out[i] = scored{a.conversation, best(a.found)}
	}
	return out
}

func scores(list []scored) []float64 {
	out := make([]float64, len(list))
	for i, s := range list {
		out[i] = s.best
	}
	return out
}

func conversationsOf(list []scored) []int {
	out := make([]int, len(list))
	for i, s := range list {
		out[i] = s.conversation
	}
	return out
}

// abstain compares answerable questions with others.
func abstain(against string, answerable, others []scored, clustered bool) Abstention {
	all, n := scores(slices.Concat(answerable, others)), len(answerable)
	d := byConversation(clustered, conversationsOf(answerable), conversationsOf(others))
	// counted are the rows that were abstained from, of those that should not be and
	// of those that should, and the number of the latter.
	counted := func(rows []int) (wrongly, rightly, should float64) {
		for _, row := range rows {
			silent := all[row] == 0
			switch {
			case row >= n && silent:
				rightly++
				should++
			case row >= n:
				should++
			case silent:
				wrongly++
			}
		}
		return wrongly, rightly, should
	}
	a := Abstention{Against: against, Questions: len(others)}
	a.AUC = d.estimate(len(all), func(rows []int) float64 {
		var high, low []float64
		for _, row := range rows {
			if row < n {
				high = append(high, all[row])
			} else {
				low = append(low, all[row])
			}
		}
		if len(high) == 0 || len(low) == 0 {
			return math.NaN()
		}
		return areaUnderCurve(high, low)
	})
	a.Precision = d.estimate(len(all), func(rows []int) float64 {
		wrongly, rightly, _ := counted(rows)
		return rightly / (wrongly + rightly)
	})
	a.Recall = d.estimate(len(all), func(rows []int) float64 {
		_, rightly, should := counted(rows)
		return rightly / should
	})
	return a
}

// silent is the share of best scores that are those of finding nothing.
func silent(scores []float64) float64 {
	none := 0
	for _, x := range scores {
		if x == 0 {
			none++
		}
	}
	return float64(none) / float64(max(1, len(scores)))
}

// areaUnderCurve returns the chance that a random one of high is above a random
// one of low, ties counting half.
func areaUnderCurve(high, low []float64) float64 {
	if len(high) == 0 || len(low) == 0 {
		return 0
	}
	low = slices.Sorted(slices.Values(low))
	var sum float64
	for _, x := range high {
		below, _ := slices.BinarySearch(low, x)
		through, _ := slices.BinarySearchFunc(low, x, func(e, x float64) int {
			if e <= x {
				return -1
			}
			return 1
		})
		sum += float64(below) + float64(through-below)/2
	}
	return sum / float64(len(high)) / float64(len(low))
}
