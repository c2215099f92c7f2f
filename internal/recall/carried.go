package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// ownLeast is the share of its score for which a hit comes before a turn that only
// carries the question's words.
const ownLeast = 0.3

// carriers are what people call what they hand on, as terms: who asks for it by such a
// name means it.
var carriers = lazy.Make(func() terms {
	return termsOf(`translate translation email mail message letter text note code script function program quote quoted sentence paragraph essay
		article story poem lyrics song draft post caption wrote written sent forwarded pasted summarize summary rewrite proofread`)
})

// ownFirst moves turns that have the question's words only in what they carry (a mail,
// code, a passage to translate) behind the hits that answer in the speaker's own words,
// where the question is about the user: "do I have brothers?" is not answered by the
// hero of a story. The order stays otherwise.
func ownFirst(hits []memory.Hit, question string, asked terms) []memory.Hit {
	if len(hits) < 2 || len(asked) == 0 || !aboutUser(question) || slices.ContainsFunc(asked, carriers.Get().has) {
		return hits
	}
	var own, carried []memory.Hit
	for i, h := range hits {
		if !carries(h.Memory, asked) {
			if carried != nil {
				own = append(own, h)
			}
			continue
		}
		if carried == nil {
			own = slices.Clone(hits[:i])
		}
		carried = append(carried, h)
	}
	for _, h := range carried {
		at := len(own)
		for at > 0 && own[at-1].Score < ownLeast*h.Score {
			at--
		}
		own = slices.Insert(own, at, h)
	}
	if carried == nil {
		return hits
	}
	return own
}

// carries reports whether a turn has words of the question, and all of them in what is
// not its speaker's own.
func carries(m memory.Memory, asked terms) bool {
	if m.Turn == nil {
		return false
	}
	own := text.Own(m.Turn.Content)
	return own != m.Turn.Content && !slices.ContainsFunc(termsOf(own), asked.has)
}

// aboutUser reports whether a question speaks of the one who asks.
func aboutUser(question string) (is bool) {
	text.EachWord(question, func(w string) {
		switch w {
		case "i", "me", "we", "my", "our", "us", "mine", "ours", "myself":
			is = true
		}
	})
	return is
}
