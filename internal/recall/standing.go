package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Standing returns those of an owner's facts that belong into the prompt of a message whether a search finds
// them or not: first how the user wants to be answered, then what else stands on a topic of the
// message. What is of others is among them where the message speaks of them. Only what the user or
// a person said counts.
func Standing(facts []memory.Fact, message string) []memory.Fact {
	topics := english.TopicsOf(message)
	var answers, own, others []memory.Fact
	var asked terms
	for _, f := range facts {
		if f.Trust != memory.TrustUser && f.Trust != memory.TrustPerson {
			continue
		}
		switch of := english.StandingIn(f.Content); {
		case of&english.Answers != 0:
			answers = append(answers, f)
		case of&topics&^english.Theirs == 0:
		case of&english.Theirs == 0:
			own = append(own, f)
		default:
			if asked == nil {
				asked = termsOf(message)
			}
			if topics&english.Theirs != 0 || slices.ContainsFunc(text.Names(f.Content), func(name string) bool { return termsOf(name).overlap(asked) > 0 }) {
				others = append(others, f)
			}
		}
	}
	return slices.Concat(answers, own, others)
}
