// Package talk generates everyday sentences for measures, always the same for a seed.
package talk

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Talk generates everyday sentences. Zipf's law selects the words: the most frequent are everyday words, for which
// recall has synonyms, the others invented. Stop words are as frequent as in speech.
type Talk struct {
	words []string
	zipf  *rand.Zipf
	r     *rand.Rand
}

const (
	// vocabularySize is about the vocabulary of a person.
	vocabularySize = 20_000

	// The exponent and offset of Zipf's law in Mandelbrot's form. smallWords are the most frequent words.
	zipfExponent, zipfOffset = 1.1, 20
)

// smallWords are the most frequent words of English, nearly half of all speech.
var smallWords = strings.Fields(`the to and a of in it is that my on was with for you at this have but be so we as
	not are about they just from had what all when up there one out if`)

// everydayWords are frequent content words.
var everydayWords = strings.Fields(`work home friend week car dog family trip school movie book dinner music job wife
	kid party house weekend game birthday phone coffee boss cat coach husband doctor lunch city beach team class food
	garden concert restaurant run money partner project guitar mother father train hotel holiday son daughter brother
	sister photo gym language wedding plan hike teacher computer bike flight exam meeting recipe museum neighbor baby
	medicine swim paint office mountain lake album dance wine cook park buy learn start visit study live move help
	enjoy plant apartment breakfast meal drink summer winter January Monday`)

// New returns a generator for a seed.
func New(seed uint64) *Talk {
	r := rand.New(rand.NewPCG(seed, 7))
	return &Talk{words: vocabulary(), zipf: rand.NewZipf(r, zipfExponent, zipfOffset, vocabularySize-1), r: r}
}

// vocabulary returns pronounceable words, the most frequent first.
var vocabulary = sync.OnceValue(func() []string {
	const consonants, vowels = "bcdfghklmnprstvz", "aeiou"
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, vocabularySize)
	for i := range words[copy(words, everydayWords):] {
		i += len(everydayWords)
		var b strings.Builder
		for range 2 + r.IntN(3) {
			b.WriteByte(consonants[r.IntN(len(consonants))])
			b.WriteByte(vowels[r.IntN(len(vowels))])
		}
		words[i] = b.String()
	}
	return words
})

// Word returns a random word.
func (t *Talk) Word() string { return t.words[t.zipf.Uint64()] }

// Sentence returns a sentence of 8 to 24 words.
func (t *Talk) Sentence() string {
	words := []string{"I"}
	for i := range 7 + t.r.IntN(17) {
		w := t.Word()
		switch x := t.r.Float64(); {
		case i < 2: // every sentence has words to ask about
		case x < 0.45:
			w = smallWords[t.r.IntN(len(smallWords))]
		case x < 0.48:
			w = strings.ToUpper(w[:1]) + w[1:] // a name
		}
		words = append(words, w)
	}
	return strings.Join(words, " ") + "."
}

// Sentences returns n sentences.
func (t *Talk) Sentences(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = t.Sentence()
	}
	return out
}

// frames are forms of questions.
var frames = []string{
	"What did I say about @?", "Do you remember @?", "When was that with @?", "Who told me about @?", "@?",
}

// Question returns a question with up to 8 words of a random sentence. sentences must not be empty.
func (t *Talk) Question(sentences []string) string {
	words := contentWords(sentences[t.r.IntN(len(sentences))])
	n := min(2+t.r.IntN(7), len(words))
	asked := make([]string, n)
	for i, place := range t.r.Perm(len(words))[:n] {
		asked[i] = words[place]
	}
	return strings.Replace(frames[t.r.IntN(len(frames))], "@", strings.Join(asked, " "), 1)
}

// contentWords returns the words of a sentence without smallWords.
func contentWords(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.DeleteFunc(words, func(w string) bool { return w == "I" || slices.Contains(smallWords, w) })
}

// Questions returns n questions.
func (t *Talk) Questions(n int, sentences []string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = t.Question(sentences)
	}
	return out
}
