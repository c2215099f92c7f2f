package english

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Token is a word or a punctuation mark of a sentence. A contraction is two words: "I'm" is "i" and "am".
type Token struct {
	text.Span
	Lower         string // the word in lower case, or a mark: one of ,;:-()"
	IsCapitalized bool   // the word begins with a capital letter
	IsPossessive  bool   // the word ends in 's, which Lower omits
}

// IsMark reports whether the token is a punctuation mark within a sentence.
func (t Token) IsMark() bool { return len(t.Lower) == 1 && strings.Contains(",;:-()\"", t.Lower) }

// Tokens returns the words and punctuation marks of a part of s in order.
func Tokens(s string, part text.Span) []Token {
	out := make([]Token, 0, 1+(part.End-part.Start)/5)
	for i := part.Start; i < part.End; {
		if n := tokenLength(s[i:part.End]); n > 0 {
			out = appendContraction(out, s, text.Span{Start: i, End: i + n})
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:part.End])
		abbreviated := r == '.' && len(out) > 0 && titles.Has(out[len(out)-1].Lower)
		if low := marks[r]; low != "" && !abbreviated && (low != "-" || r != '-' || i == part.Start || s[i-1] == ' ') {
			out = append(out, Token{Span: text.Span{Start: i, End: i + n}, Lower: low})
		}
		i += n
	}
	return out
}

// titles end in a full stop that does not end the sentence.
var titles = lazy.Words("mr mrs ms dr st prof")

// marks maps the punctuation marks that separate parts of a sentence to [Token.Lower].
var marks = map[rune]string{',': ",", ';': ";", ':': ":", '-': "-", '–': "-", '—': "-", '…': "-", '.': "-", '!': "-", '(': "(", ')': ")", '"': "\"", '“': "\"", '”': "\""}

// tokenLength returns the length of the word at the start of s, or 0. A word may contain marks, as in
// "part-time", "3.5" and "C++".
func tokenLength(s string) int {
	end := 0
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			end = i + utf8.RuneLen(r)
		case i == 0 && strings.ContainsRune("$€£¥@", r), i > 0 && end == i && strings.ContainsRune("+#%", r):
			end = i + utf8.RuneLen(r)
		case i > 0 && end == i && strings.ContainsRune("'’-./&@_", r) || i > 0 && end == i && (r == ',' || r == ':') && s[i-1] <= '9' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
		default:
			return max(end, 0)
		}
		if end < i { // the word ends before two marks in a row
			return end
		}
	}
	return end
}

// appendContraction appends the word at a span to the tokens; a contraction becomes two tokens.
func appendContraction(tokens []Token, s string, span text.Span) []Token {
	first, _ := utf8.DecodeRuneInString(span.Slice(s))
	lowerWord := strings.ReplaceAll(strings.ToLower(span.Slice(s)), "’", "'")
	add := func(lowerWord string, start, end int) {
		tokens = append(tokens, Token{Span: text.Span{Start: start, End: end}, Lower: lowerWord, IsCapitalized: unicode.IsUpper(first)})
	}
	if two, ok := slurredContractions[lowerWord]; ok {
		a, b, _ := strings.Cut(two, " ")
		add(a, span.Start, span.End)
		add(b, span.End, span.End)
		return tokens
	}
	base, tail, found := strings.Cut(lowerWord, "'")
	cut := span.Start + strings.IndexAny(span.Slice(s), "'’")
	switch {
	case !found || base == "":
		add(lowerWord, span.Start, span.End)
	case tail == "t" && strings.HasSuffix(base, "n"):
		verb := strings.TrimSuffix(base, "n")
		if whole, ok := negatedStems[base]; ok {
			verb = whole
		}
		add(verb, span.Start, span.End)
		add("not", span.End, span.End)
	case contractedVerbs[tail] != "", tail == "s" && wordsBeforeIs.Has(base):
		add(base, span.Start, cut)
		add(cmp.Or(contractedVerbs[tail], "is"), cut, span.End)
	case tail == "s":
		add(base, span.Start, span.End)
		tokens[len(tokens)-1].IsPossessive = true
	default:
		add(lowerWord, span.Start, span.End)
	}
	return tokens
}

// contractedVerbs maps the letters after an apostrophe to the verb.
var contractedVerbs = map[string]string{"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}

// slurredContractions are contractions that people write as one word ("wanna").
var slurredContractions = map[string]string{
	"im": "i am", "ive": "i have", "dont": "do not", "cant": "can not", "cannot": "can not", "wont": "will not",
	"didnt": "did not", "doesnt": "does not", "isnt": "is not", "wasnt": "was not", "havent": "have not", "hasnt": "has not",
	"wanna": "want to", "gonna": "going to", "gotta": "have to", "thats": "that is", "shes": "she is", "hes": "he is", "let's": "let us",
}

// negatedStems maps the letters before 't of an irregular negation to the verb: "won" of "won't" to "will".
var negatedStems = map[string]string{"can": "can", "won": "will", "ain": "am", "shan": "shall"}

// wordsBeforeIs are words after which 's means "is" instead of a genitive.
var wordsBeforeIs = lazy.Words("it he she that there here what who where how when this everything everyone name which birthday")
