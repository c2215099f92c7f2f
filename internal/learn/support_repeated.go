package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// token is a word as claims and turns are compared when one repeats the other: the
// speaker is the user, endings are off, and what carries no meaning is left out.
type token struct {
	term string
	text.Span
}

// sameWord are short forms and what they stand for; "" is left out.
var sameWord = map[string]string{
	"i": "user", "we": "user", "me": "user", "us": "user", "my": "user", "our": "user", "mine": "user", "ours": "user", "myself": "user", "ourselves": "user",
	"i'm": "user", "i've": "user", "im": "user", "ive": "user", "we're": "user", "we've": "user",
	"another": "another", "a": "", "an": "", "the": "", "is": "", "am": "", "are": "", "be": "", "been": "", "being": "", "has": "", "have": "", "do": "", "does": "",
	"s": "", "m": "", "ve": "", "re": "", "that": "", "and": "", "also": "", "really": "", "just": "",
	"it's": "it", "it": "it", "can't": "can not", "cannot": "can not", "won't": "will not", "wouldn't": "would not", "never": "never", "no": "no", "not": "not",
	"don't": "not", "doesn't": "not", "didn't": "did not", "haven't": "not", "hasn't": "not", "isn't": "not", "aren't": "not", "wasn't": "was not", "weren't": "were not",
	"gonna": "going to", "wanna": "want to", "i'll": "user will", "i'd": "user would", "we'll": "user will", "we'd": "user would",
}

// tokens reads the words of s. claimed says that s is a claim, where "they" and
// "their" may be the user.
func tokens(s string, claimed bool) []token {
	var out []token
	folded := strings.ToLower(s)
	if len(folded) != len(s) { // places must hold
		return nil
	}
	for _, m := range spokenWord.FindAllStringIndex(folded, -1) {
		w := strings.ReplaceAll(folded[m[0]:m[1]], "’", "'")
		span := text.Span{Start: m[0], End: m[1]}
		with, known := sameWord[w]
		switch {
		case claimed && (w == "user" || w == "user's" || w == "they" || w == "their" || w == "them" || w == "themselves" || w == "themself"):
			with = "user"
		case w == "user" || w == "user's": // as nobody speaks of themselves
			with = "another"
		case !known:
			if with = text.Term(strings.TrimSuffix(w, "'s")); with == "" {
				with = w
			}
			if strings.HasSuffix(w, "ed") { // lived is not lives
				with += "+ed"
			}
		}
		for t := range strings.FieldsSeq(with) {
			out = append(out, token{t, span})
		}
	}
	return out
}

var spokenWord = late.Compile(`[\pL\pN]+(?:['’]\pL+)?`)

// repeated returns the part of what was said that a claim repeats word for word, in
// the third person: from the beginning of a clause on, and without a negation left
// over that stands in a clause it takes part of.
func repeated(fact string, said Said, all []assertion) (text.Span, bool) {
	claimed := tokens(fact, true)
	if len(claimed) < 3 {
		return text.Span{}, false
	}
	if strings.ContainsAny(fact, "$€£¥") {
		return text.Span{}, false
	}
	folded := text.Fold(fact)
	words := tokens(said.Text, false)
	for i := len(words) - len(claimed); i >= 0; i-- {
		run := words[i : i+len(claimed)]
		if !slices.EqualFunc(claimed, run, func(a, b token) bool { return a.term == b.term }) {
			continue
		}
		span := text.Span{Start: run[0].Start, End: run[len(run)-1].End}
		if wholeClauses(span, folded, said.Text, all) {
			return span, true
		}
	}
	return text.Span{}, false
}

// wholeClauses reports whether a part of a turn begins where a clause does and
// takes nothing out of a clause that turns it around.
func wholeClauses(span text.Span, claimed, said string, all []assertion) bool {
	first := true
	for _, s := range all {
		if s.End <= span.Start || s.Start >= span.End {
			continue
		}
		if s.asks && !asksFor.MatchString(claimed) || s.unreal && !maybe.MatchString(claimed) || s.reported && !spoke.MatchString(claimed) {
			return false
		}
		if first {
			first = false
			before := said[s.Start:max(s.Start, span.Start)]
			if strings.TrimSpace(leadIn.ReplaceAllString(text.Fold(before)+" ", "")) != "" {
				return false
			}
		}
		if s.End > span.End && (denialForm.MatchString(text.Fold(said[span.End:s.End])) || unlikely.MatchString(text.Fold(said[span.End:s.End]))) {
			return false
		}
	}
	return !first
}
