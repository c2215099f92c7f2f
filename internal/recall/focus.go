package recall

import (
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// A message is not a query: what it asks may stand behind a paragraph of small talk or beside a
// pasted mail. The words of a sentence that only states something count less than those of one that
// asks, and pasted text counts only where there is nothing else.

// sentence is a sentence of a message with its words.
type sentence struct {
	text  string
	words []string
	asks  bool // or requests
}

const (
	// statedWeight is what a word of a statement counts where the message also asks. Of 0.3, 0.5 and 1
	// it finds the most (docs/design/ranking.md).
	statedWeight = 0.5

	// mostAsked is how many bytes of a message are looked at for what it asks.
	mostAsked = 1500
	// mostNear is how many of these are embedded, which takes as long as they are many.
	mostNear = 350

	// mostSentences and mostRead bound what of a long message is read: its ends, where people ask.
	mostSentences = 60
	mostRead      = 8 << 10
)

// ends returns the beginning and the end of a message that is too long to be read whole.
func ends(message string) string {
	if len(message) <= 2*mostRead {
		return message
	}
	first := strings.ToValidUTF8(message[:mostRead], "")
	last := strings.ToValidUTF8(message[len(message)-mostRead:], "")
	return first + "\n\n" + last
}

// sentencesOf returns the sentences that the person wrote.
func sentencesOf(message string) []sentence {
	message = ends(message)
	all := english.Read(message)
	if own := slices.DeleteFunc(slices.Clone(all), func(s english.Sentence) bool { return s.Pasted }); len(own) > 0 {
		all = own
	}
	if len(all) > mostSentences {
		all = slices.Concat(all[:mostSentences/2], all[len(all)-mostSentences/2:])
	}
	out := make([]sentence, len(all))
	for i, s := range all {
		content := s.Of(message)
		asks := slices.ContainsFunc(s.Clauses, func(c english.Clause) bool { return c.Mood == english.Asks || c.Mood == english.Requests })
		out[i] = sentence{content, text.Words(content), asks}
	}
	return out
}

// asking returns the sentences that ask, or all where none does.
func asking(sentences []sentence) []sentence {
	if asks := slices.DeleteFunc(slices.Clone(sentences), func(s sentence) bool { return !s.asks }); len(asks) > 0 {
		return asks
	}
	return sentences
}

// weigh returns what the terms of the sentences that do not ask count, nil where there are none.
func weigh(sentences, asks []sentence) map[string]float32 {
	if len(asks) == len(sentences) {
		return nil
	}
	out := map[string]float32{}
	for _, s := range sentences {
		for _, term := range text.Terms(s.text) {
			out[term] = statedWeight
		}
	}
	for _, s := range asks {
		for _, term := range text.Terms(s.text) {
			delete(out, term)
		}
	}
	return out
}

// near returns what to embed of a message: of the sentences that ask, the first and the last.
func near(asks []sentence) string {
	if len(asks) > 2 {
		asks = []sentence{asks[0], asks[len(asks)-1]}
	}
	return text.Clip(joined(asks), mostNear)
}

func joined(sentences []sentence) string {
	var parts []string
	for _, s := range sentences {
		parts = append(parts, s.text)
	}
	return strings.Join(parts, "\n")
}

// shortNeed is as how many words a short message counts that speaks of a person or of one certain
// thing: "when is the change window?" asks as plainly as a longer one.
const shortNeed = 8

// needs returns the log-odds, by the form of a message alone, that an answer to it needs memory.
func needs(sentences []sentence) float64 {
	var words int
	var first, third, the, quoted bool
	for _, s := range sentences {
		words += len(s.words)
		for i, w := range s.words {
			first = first || english.IsFirstPerson(w) && !generic(s.words[:i])
			third = third || english.IsThirdPerson(w)
			the = the || definite.Has(w)
		}
		quoted = quoted || strings.ContainsAny(s.text, `"“„«`)
	}
	least := 0.0
	if first || third || the {
		least = shortNeed
	}
	odds := -11.7 + 3.8*math.Log1p(max(least, min(float64(words), 12)))
	for _, sign := range [...]struct {
		is     bool
		weight float64
	}{{first, 2.5}, {third, 1.6}, {the, 1}, {quoted, -3}} {
		if sign.is {
			odds += sign.weight
		}
	}
	return odds
}

// generic reports whether what stands before "I" asks how anybody does something: "how do I …".
func generic(before []string) bool {
	n := len(before)
	return n >= 2 && before[n-2] == "how" && (before[n-1] == "do" || before[n-1] == "can" || before[n-1] == "would" || before[n-1] == "should")
}

var definite = lazy.Words("the this that these those der die das den dem des el la los las le les")

// ownWords is how many words the sentences have.
func ownWords(sentences []sentence) (n int) {
	for _, s := range sentences {
		n += len(s.words)
	}
	return n
}
