package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// A message is not a query: what it asks may stand behind a paragraph of small talk or beside a
// pasted mail. Each sentence gets a weight by how likely it is what the message asks, and its
// words count that much in the search. Pasted text counts only where there is nothing else.
//
// The constants of this file are those of two logistic fits to the messages of ten invented people
// (bench/eval/testdata/chat-recall), each judged by the other nine; docs/ranking.md has the figures.

// sentence is a sentence of a message with its words.
type sentence struct {
	text   string
	words  []string
	moods  [english.Greets + 1]bool // of its clauses
	likely float64                  // that it asks, 0 to 1, beside the likeliest
	weight float64                  // of its words, 0 to 1
}

const (
	// leastWeight is what a word of an unlikely sentence counts at least.
	leastWeight = 0.1

	// focusWeight is the weight from which on a sentence belongs to what is asked, and how likely
	// one is at least, beside the likeliest, that is embedded.
	focusWeight = 0.4

	// enoughTerms is how many terms a search has at least, where the message has as many.
	enoughTerms = 8

	// mostAsked is how many bytes of a message are what it asks.
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

// sentencesOf returns the sentences that the person wrote, with their weights.
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
	most := math.Inf(-1)
	for i, s := range all {
		x := &out[i]
		x.text = s.Of(message)
		x.words = text.Words(x.text)
		for _, c := range s.Clauses {
			x.moods[c.Mood] = true
		}
		x.weight = x.asks(i, len(all))
		most = max(most, x.weight)
	}
	for i := range out { // the likeliest counts 1
		out[i].likely = math.Exp((out[i].weight - most) / 2)
		out[i].weight = max(leastWeight, out[i].likely)
	}
	fill(out)
	for i := 1; i < len(out); i++ {
		out[i].weight = max(out[i].weight, nextTo*out[i-1].weight)
	}
	for i := len(out) - 2; i >= 0; i-- {
		out[i].weight = max(out[i].weight, nextTo*out[i+1].weight)
	}
	return out
}

// nextTo is the share of its neighbour's weight that a sentence has at least: it may say what that
// is about.
const nextTo = 0.7

// likeliest returns the places of the sentences, the likeliest to ask first.
func likeliest(sentences []sentence) []int {
	order := make([]int, len(sentences))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sentences[j].likely, sentences[i].likely) })
	return order
}

// parted returns the sentences that ask, in their order, and the others. Of a long message the
// likeliest ask: what is asked has at most about mostAsked bytes.
func parted(sentences []sentence) (asks, beside []sentence) {
	return chosen(sentences, mostAsked, func(s *sentence) float64 { return s.weight })
}

// chosen returns the likeliest sentence, the next ones whose weight counts while they have room
// in so many bytes, in their order, and the others.
func chosen(sentences []sentence, room int, weight func(*sentence) float64) (in, out []sentence) {
	is := make([]bool, len(sentences))
	for n, i := range likeliest(sentences) {
		if room -= len(sentences[i].text); n > 0 && (room < 0 || weight(&sentences[i]) < focusWeight) {
			break
		}
		is[i] = true
	}
	for i, s := range sentences {
		if is[i] {
			in = append(in, s)
		} else {
			out = append(out, s)
		}
	}
	return in, out
}

// fill has the likeliest sentences count whole until they have enough words to search for: "So
// what's next?" asks of what stands around it.
func fill(sentences []sentence) {
	terms := 0
	for _, i := range likeliest(sentences) {
		if terms >= enoughTerms {
			return
		}
		sentences[i].weight = 1
		terms += len(text.Terms(sentences[i].text))
	}
}

// asks returns the log-odds, but for a constant, that the sentence at a place is what its message
// asks.
func (s *sentence) asks(at, of int) float64 {
	odds := -1.4 * math.Log1p(float64(len(s.words)))
	if s.moods[english.Asks] {
		odds += 2.1
	}
	if slices.ContainsFunc(s.words, english.IsRequest) {
		odds += 1.5
	}
	if !s.moods[english.Asks] && !s.moods[english.Requests] && !s.moods[english.States] {
		odds -= 1.6
	}
	if len(s.words) < 4 {
		odds -= 3.1
	}
	if slices.ContainsFunc(s.words, english.IsFirstPerson) {
		odds += 0.9
	}
	switch { // people ask first or last
	case at == 0 || at == of-1:
		odds += 3.8
	case at == 1 || at == of-2:
		odds += 2.5
	}
	return odds
}

// besideName is what a word counts beside a name, which tells memories apart better than any other
// word does.
const besideName = 0.5

// weigh returns what each term of the sentences counts, nil if all count alike.
func weigh(sentences []sentence) map[string]float32 {
	out, names := map[string]float32{}, map[string]bool{}
	for _, s := range sentences {
		for _, name := range text.Names(s.text) {
			for _, term := range text.Terms(name) {
				names[term] = true
			}
		}
	}
	alike := len(names) == 0
	for _, s := range sentences {
		alike = alike && s.weight == 1
		for _, term := range text.Terms(s.text) {
			weight := s.weight
			if len(names) > 0 && !names[term] {
				weight *= besideName
			}
			out[term] = max(out[term], float32(weight))
		}
	}
	if alike {
		return nil
	}
	return out
}

// near returns what to embed of the sentences that ask: the likeliest, in their order.
func near(asks []sentence) string {
	likely, _ := chosen(asks, mostNear, func(s *sentence) float64 { return s.likely })
	return text.Clip(joined(likely), mostNear)
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
