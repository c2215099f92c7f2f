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
	text       string
	words      []string
	isQuestion bool // the sentence asks or requests something
}

const (
	// statementWeight is the weight of a word in a statement next to a question. Of 0.3, 0.5 and 1, this value
	// finds the most answers (docs/design/ranking.md).
	statementWeight = 0.5

	// maxQuestionBytes is the maximum number of bytes of a message that are parsed as its question.
	maxQuestionBytes = 1500
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
	all := english.ParseSentences(message)
	if own := slices.DeleteFunc(slices.Clone(all), func(s english.Sentence) bool { return s.IsPasted }); len(own) > 0 {
		all = own
	}
	if len(all) > maxSentences {
		all = slices.Concat(all[:maxSentences/2], all[len(all)-maxSentences/2:])
	}
	out := make([]sentence, len(all))
	for i, s := range all {
		content := s.Slice(message)
		asks := slices.ContainsFunc(s.Clauses, func(c english.Clause) bool { return c.Mood == english.MoodQuestion || c.Mood == english.MoodRequest })
		out[i] = sentence{content, text.Words(content), asks}
	}
	return out
}

// askingSentences returns the sentences that ask, or all sentences if none asks.
func askingSentences(sentences []sentence) []sentence {
	if asks := slices.DeleteFunc(slices.Clone(sentences), func(s sentence) bool { return !s.isQuestion }); len(asks) > 0 {
		return asks
	}
	return sentences
}

// statementTermWeights returns the weights of terms that occur only in statements, or nil without statements.
func statementTermWeights(sentences, questions []sentence) map[string]float32 {
	if len(questions) == len(sentences) {
		return nil
	}
	out := map[string]float32{}
	for _, s := range sentences {
		for _, term := range text.Terms(s.text) {
			out[term] = statementWeight
		}
	}
	for _, s := range questions {
		for _, term := range text.Terms(s.text) {
			delete(out, term)
		}
	}
	return out
}

// textToEmbed returns the text to embed: the first and the last of the sentences that ask.
func textToEmbed(questions []sentence) string {
	if len(questions) > 2 {
		questions = []sentence{questions[0], questions[len(questions)-1]}
	}
	return text.Clip(joinSentences(questions), maxEmbedBytes)
}

func joinSentences(sentences []sentence) string {
	var parts []string
	for _, s := range sentences {
		parts = append(parts, s.text)
	}
	return strings.Join(parts, "\n")
}

// minNeedWords is the minimum word count that needLogOdds assumes for a message about a person or a definite
// thing: "When is the change window?" asks as clearly as a longer question.
const minNeedWords = 8

// needLogOdds returns the log-odds that an answer needs memory, by a fit to the form of the message.
func needLogOdds(sentences []sentence) float64 {
	var words int
	var first, third, isDefinite, hasQuotes bool
	for _, s := range sentences {
		words += len(s.words)
		for i, w := range s.words {
			first = first || english.IsFirstPerson(w) && !asksGenerally(s.words[:i])
			third = third || english.IsThirdPerson(w)
			isDefinite = isDefinite || definiteWords.Has(w)
		}
		hasQuotes = hasQuotes || strings.ContainsAny(s.text, `"“„«`)
	}
	minWords := 0.0
	if first || third || isDefinite {
		minWords = minNeedWords
	}
	odds := -11.7 + 3.8*math.Log1p(max(minWords, min(float64(words), 12)))
	for _, sign := range [...]struct {
		is     bool
		weight float64
	}{{first, 2.5}, {third, 1.6}, {isDefinite, 1}, {hasQuotes, -3}} {
		if sign.is {
			odds += sign.weight
		}
	}
	return odds
}

// asksGenerally reports whether the words before "I" ask for general advice: "how do I …".
func asksGenerally(precedingWords []string) bool {
	n := len(precedingWords)
	return n >= 2 && precedingWords[n-2] == "how" && (precedingWords[n-1] == "do" || precedingWords[n-1] == "can" || precedingWords[n-1] == "would" || precedingWords[n-1] == "should")
}

var definiteWords = lazy.Words("the this that these those der die das den dem des el la los las le les")

// countWords returns the number of words in the sentences.
func countWords(sentences []sentence) (n int) {
	for _, s := range sentences {
		n += len(s.words)
	}
	return n
}
