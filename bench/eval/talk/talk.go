// Package talk makes up everyday talk to measure with. Nothing is random in it: the same seed
// makes the same talk.
package talk

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Talk makes everyday sentences, the same for the same seed. Their words are drawn
// by Zipf's law, as people draw them; the commonest are everyday ones, which recall
// knows other words for, the rest is made up. Between them stand the small words of
// English, as many as there are in speech.
type Talk struct {
	words []string
	zipf  *rand.Zipf
	r     *rand.Rand
}

const (
	// vocabularySize is about the words that someone uses.
	vocabularySize = 20_000

	// The exponent and the offset of Zipf's law (Mandelbrot's form), with the
	// commonest words left to smallWords.
	zipfExponent, zipfOffset = 1.1, 20
)

// smallWords are the commonest of English; they take up near half of what is said.
var smallWords = strings.Fields(`the to and a of in it is that my on was with for you at this have but be so we as
	not are about they just from had what all when up there one out if`)

// everydayWords are what people talk about most.
var everydayWords = strings.Fields(`work home friend week car dog family trip school movie book dinner music job wife
	kid party house weekend game birthday phone coffee boss cat coach husband doctor lunch city beach team class food
	garden concert restaurant run money partner project guitar mother father train hotel holiday son daughter brother
	sister photo gym language wedding plan hike teacher computer bike flight exam meeting recipe museum neighbor baby
	medicine swim paint office mountain lake album dance wine cook park buy learn start visit study live move help
	enjoy plant apartment breakfast meal drink summer winter January Monday`)

// New returns the talk of a seed.
func New(seed uint64) *Talk {
	r := rand.New(rand.NewPCG(seed, 7))
	return &Talk{words: vocabulary(), zipf: rand.NewZipf(r, zipfExponent, zipfOffset, vocabularySize-1), r: r}
}

// vocabulary is words that can be spoken, the commonest first.
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

// Word draws a word.
func (t *Talk) Word() string { return t.words[t.zipf.Uint64()] }

// Sentence says something of 8 to 24 words.
func (t *Talk) Sentence() string {
	words := []string{"I"}
	for i := range 7 + t.r.IntN(17) {
		w := t.Word()
		switch x := t.r.Float64(); {
		case i < 2: // so that it can be asked about
		case x < 0.45:
			w = smallWords[t.r.IntN(len(smallWords))]
		case x < 0.48:
			w = strings.ToUpper(w[:1]) + w[1:] // somebody's name
		}
		words = append(words, w)
	}
	return strings.Join(words, " ") + "."
}

// Sentences says n things.
func (t *Talk) Sentences(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = t.Sentence()
	}
	return out
}

// frames are how questions are put.
var frames = []string{
	"What did I say about @?", "Do you remember @?", "When was that with @?", "Who told me about @?", "@?",
}

// Question asks for 2 to 8 words of something that was said, as far as that has
// so many. Something must have been said.
func (t *Talk) Question(said []string) string {
	words := contentWords(said[t.r.IntN(len(said))])
	n := min(2+t.r.IntN(7), len(words))
	asked := make([]string, n)
	for i, place := range t.r.Perm(len(words))[:n] {
		asked[i] = words[place]
	}
	return strings.Replace(frames[t.r.IntN(len(frames))], "@", strings.Join(asked, " "), 1)
}

// contentWords returns the words of a sentence that are not small.
func contentWords(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.DeleteFunc(words, func(w string) bool { return w == "I" || slices.Contains(smallWords, w) })
}

// Questions asks n times.
func (t *Talk) Questions(n int, said []string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = t.Question(said)
	}
	return out
}
