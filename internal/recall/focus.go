package recall

import (
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// A message may have small talk before its question, or a pasted mail after it. Statements count less than
// sentences that ask. Pasted text counts only if there is no other text.

type sentence struct {
	text  string
	words []string
	asks  bool // the sentence asks or requests something
}

const (
	// statedWeight is the weight of a word in a statement next to a question. Of 0.3, 0.5 and 1, this value
	// finds the most answers (docs/design/ranking.md).
	statedWeight = 0.5

	// maxAskBytes is the maximum number of bytes of a message that are parsed as its question.
	maxAskBytes = 1500
	// maxEmbedBytes is the maximum number of bytes to embed, because embedding time grows with the length.
	maxEmbedBytes = 350

	// maxSentences, and maxReadBytes at each end, limit the part of a long message that is read: the
	// beginning and the end, where people ask.
	maxSentences = 60
	maxReadBytes = 8 << 10
)

// beginningAndEnd returns a message, or only the beginning and the end of a long message.
func beginningAndEnd(message string) string {
	if len(message) <= 2*maxReadBytes {
		return message
	}
	first := strings.ToValidUTF8(message[:maxReadBytes], "")
	last := strings.ToValidUTF8(message[len(message)-maxReadBytes:], "")
	return first + "\n\n" + last
}

// sentencesOf returns the sentences that the person wrote, or all sentences if the person wrote none.
func sentencesOf(message string) []sentence {
	message = beginningAndEnd(message)
	all := english.Read(message)
	if own := slices.DeleteFunc(slices.Clone(all), func(s english.Sentence) bool { return s.Pasted }); len(own) > 0 {
		all = own
	}
	if len(all) > maxSentences {
		all = slices.Concat(all[:maxSentences/2], all[len(all)-maxSentences/2:])
	}
	out := make([]sentence, len(all))
	for i, s := range all {
		content := s.Of(message)
		asks := slices.ContainsFunc(s.Clauses, func(c english.Clause) bool { return c.Mood == english.Asks || c.Mood == english.Requests })
		out[i] = sentence{content, text.Words(content), asks}
	}
	return out
}

// askingSentences returns the sentences that ask, or all sentences if none asks.
func askingSentences(sentences []sentence) []sentence {
	if asks := slices.DeleteFunc(slices.Clone(sentences), func(s sentence) bool { return !s.asks }); len(asks) > 0 {
		return asks
	}
	return sentences
}

// weigh returns the weights of terms that occur only in statements, or nil without statements.
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

// textToEmbed returns the text to embed: the first and the last of the sentences that ask.
func textToEmbed(asks []sentence) string {
	if len(asks) > 2 {
		asks = []sentence{asks[0], asks[len(asks)-1]}
	}
	return text.Clip(joinSentences(asks), maxEmbedBytes)
}

func joinSentences(sentences []sentence) string {
	var parts []string
	for _, s := range sentences {
		parts = append(parts, s.text)
	}
	return strings.Join(parts, "\n")
}

// shortNeed is the minimum word count that memoryNeed assumes for a message about a person or a definite
// thing: "When is the change window?" asks as clearly as a longer question.
const shortNeed = 8

// memoryNeed returns the log-odds that an answer needs memory, by a fit to the form of the message.
func memoryNeed(sentences []sentence) float64 {
	var words int
	var first, third, the, quoted bool
	for _, s := range sentences {
		words += len(s.words)
		for i, w := range s.words {
			first = first || english.IsFirstPerson(w) && !isGeneric(s.words[:i])
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

// isGeneric reports whether the words before "I" ask for general advice: "how do I …".
func isGeneric(before []string) bool {
	n := len(before)
	return n >= 2 && before[n-2] == "how" && (before[n-1] == "do" || before[n-1] == "can" || before[n-1] == "would" || before[n-1] == "should")
}

var definite = lazy.Words("the this that these those der die das den dem des el la los las le les")

// ownWords returns the number of words in the sentences.
func ownWords(sentences []sentence) (n int) {
	for _, s := range sentences {
		n += len(s.words)
	}
	return n
}
