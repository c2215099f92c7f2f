package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// HitsByImportance returns all memories as hits for a broad [Query], the most important first: pinned facts,
// other facts by weight, confidence and recency, then turns and summaries. Score is the importance, from 0 to 1.
func HitsByImportance(memories []memory.Memory, now time.Time) []memory.Hit {
	hits := make([]memory.Hit, len(memories))
	for i, m := range memories {
		hits[i] = memory.Hit{Memory: m}
		hits[i].Score, hits[i].Why = importance(m, now)
	}
	slices.SortFunc(hits, func(a, b memory.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Memory.ID(), b.Memory.ID()))
	})
	return hits
}

func importance(m memory.Memory, now time.Time) (float64, memory.Why) {
	var pinned, confidence, weight float64
	at := m.CreatedAt()
	if m.Fact != nil {
		confidence, at, weight = m.Fact.Confidence, m.Fact.UpdatedAt, factWeight(m.Fact)
		if m.Fact.Pinned() {
			pinned = 1
		}
	}
	recent := recency(now.Sub(at))
	score := 0.5*pinned + 0.25*weight + 0.15*confidence + 0.1*recent
	return score, memory.Why{{Name: "pinned", Value: pinned}, {Name: "matter", Value: weight}, {Name: "confidence", Value: confidence}, {Name: "recency", Value: recent}, {Name: "score", Value: score}}
}

// IdentityAttributes lists the attributes that identify a person.
var IdentityAttributes = []string{"name", "age", "birthday", "home", "occupation", "employer", "partner", "pronouns"}

// Weights of facts for a broad question, by the attribute's family ("allergy" for "allergy:nuts") or else by category.
var (
	attributeWeights = map[string]float64{
		"name": 1, "allergy": 1, "condition": 0.95, "pronouns": 0.95, "diet": 0.9, "home": 0.9, "occupation": 0.9, "employer": 0.85, "age": 0.85,
		"birthday": 0.8, "partner": 0.85, "spouse": 0.85, "language": 0.6,
	}
	categoryWeights = map[string]float64{"personal": 0.85, "health": 0.85, "home": 0.8, "work": 0.75, "family": 0.7, "education": 0.6, "goal": 0.55, "plan": 0.5, "preference": 0.5}
)

const (
	otherWeight       = 0.3 // weight of any other fact
	otherPersonFactor = 0.6 // factor for facts about other people
)

func factWeight(f *memory.Fact) float64 {
	family, _, _ := strings.Cut(f.Attribute, ":")
	weight, ok := attributeWeights[family]
	if !ok {
		if weight, ok = categoryWeights[f.Category]; !ok {
			weight = otherWeight
		}
	}
	if f.Subject != "" && !strings.EqualFold(f.Subject, "user") {
		weight *= otherPersonFactor
	}
	return weight
}
