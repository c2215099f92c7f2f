package extract

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
)

//go:embed tables/words.txt
var wordTable string

// lists are the lists of tables/words.txt by name.
var lists = sync.OnceValue(func() map[string]map[string]bool {
	out, name := map[string]map[string]bool{}, ""
	for line := range strings.SplitSeq(wordTable, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != ' ' {
			name, line, _ = strings.Cut(line, ":")
			out[name] = map[string]bool{}
		}
		for w := range strings.FieldsSeq(line) {
			out[name][w] = true
		}
	}
	return out
})

// wordList returns a list of tables/words.txt. Without it the program is built wrong.
func wordList(name string) map[string]bool {
	list := lists()[name]
	if len(list) == 0 {
		panic("tables/words.txt has no list " + name)
	}
	return list
}

// word is a word or a mark of a turn. Contractions are two words: "I'm" is "i" and
// "am", and "don't" is "do" and "not".
type word struct {
	low        string // in small letters; marks are ",", ";", ":", "-", "(" and ")"
	start, end int    // its bytes in the turn
	capital    bool   // it begins with a capital
	owner      bool   // it ends in 's
}

func (w word) mark() bool { return len(w.low) == 1 && strings.Contains(",;:-()\"", w.low) }

// sentence is what a turn's words say up to a full stop, a question mark, an
// exclamation mark or the end of the line.
type sentence struct {
	words  []word
	end    int  // where it ends, with its last mark
	asks   bool // it ends in a question mark
	code   bool // it has signs that people do not write sentences with
	bullet bool // it begins with the sign or number of a list
}

// scanner cuts a turn into sentences of words. It looks at each byte a few times
// at most, whatever the turn holds.
type scanner struct {
	s     string
	at    int
	words []word // reused by each sentence
}

// next returns the next sentence, or false at the end. Its words are good until
// the next call.
func (sc *scanner) next() (sentence, bool) {
	var out sentence
	sc.words = sc.words[:0]
	signs := 0
	for sc.at < len(sc.s) {
		c := sc.s[sc.at]
		switch {
		case c == '\n':
			sc.at++
			if len(sc.words) > 0 {
				return sc.done(out, signs), true
			}
			out, signs = sentence{}, 0
		case c == ' ' || c == '\t' || c == '\r':
			sc.at++
		default:
			end, n := sc.run(&out)
			signs += n
			if end && len(sc.words) > 0 {
				return sc.done(out, signs), true
			}
		}
	}
	if len(sc.words) == 0 {
		return sentence{}, false
	}
	return sc.done(out, signs), true
}

func (sc *scanner) done(out sentence, signs int) sentence {
	out.words, out.end, out.code = sc.words, sc.at, signs > 2 && signs*4 > len(sc.words) || signs > 0 && keywords.Has(sc.words[0].low)
	return out
}

// keywords begin lines of code.
var keywords = lazy.SetOf("keywords", wordList)

// run reads one run of bytes without white space. It reports whether a sentence
// ends with it, and how many signs of code it has.
func (sc *scanner) run(out *sentence) (end bool, signs int) {
	start := sc.at
	stop := start
	for stop < len(sc.s) && sc.s[stop] > ' ' {
		if strings.HasPrefix(sc.s[stop:], "—") || strings.HasPrefix(sc.s[stop:], "…") || strings.HasPrefix(sc.s[stop:], "...") {
			break
		}
		stop++
	}
	if stop == start { // a dash or an ellipsis
		size := 3
		sc.at += size
		for sc.at < len(sc.s) && sc.s[sc.at] == '.' {
			sc.at++
		}
		sc.mark("-", start)
		return false, 0
	}
	sc.at = stop
	if strings.HasPrefix(sc.s[start:stop], "//") || strings.HasSuffix(sc.s[start:stop], "();") {
		signs += 3
	}
	for i := start; i < stop; i++ {
		switch sc.s[i] {
		case '{', '}', '<', '>', '=', '|', '\\', '[', ']', '`', '_', '#', '~', '^':
			signs++
		}
	}
	if len(sc.words) == 0 && listSign(sc.s[start:stop]) {
		out.bullet = true
		return false, 0
	}
	return sc.cut(start, stop, out), signs
}

// cut takes the marks off both ends of a run and adds what is left as a word.
func (sc *scanner) cut(start, stop int, out *sentence) (end bool) {
	for start < stop {
		r, n := utf8.DecodeRuneInString(sc.s[start:stop])
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '$' || r == '€' || r == '£' || r == '@' || r == '~' || r == '+' {
			break
		}
		sc.lead(r, start)
		start += n
	}
	body := stop
	for start < body {
		r, n := utf8.DecodeLastRuneInString(sc.s[start:body])
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("%$€£+#", r) {
			break
		}
		body -= n
	}
	if start < body {
		sc.word(start, body)
	}
	for i := body; i < stop; {
		r, n := utf8.DecodeRuneInString(sc.s[i:stop])
		switch r {
		case '?', '？':
			out.asks, end = true, true
		case '!', '！', '。':
			end = true
		case '.':
			end = end || !sc.abbreviated(start, body, stop)
		case ',', ';', ':', '(', ')':
			sc.mark(sc.s[i:i+1], i)
		case '-', '–', '—', '"', '”', '“', '\'', '’', '*', '_':
			if r == '-' || r == '–' || r == '—' {
				sc.mark("-", i)
			}
		default: // an emoji ends what is said before it
			if r > 0x2000 {
				end = end || len(sc.words) > 0
			}
		}
		i += n
	}
	return end
}

// lead adds a mark that stands before a word.
func (sc *scanner) lead(r rune, at int) {
	switch r {
	case '(', ')', ',', ';', ':':
		sc.mark(string(r), at)
	case '-', '–', '—':
		sc.mark("-", at)
	}
}

func (sc *scanner) mark(m string, at int) {
	if n := len(sc.words); n > 0 && sc.words[n-1].low != m {
		sc.words = append(sc.words, word{low: m, start: at, end: at + 1})
	}
}

// abbreviated reports whether a full stop belongs to the word before it.
func (sc *scanner) abbreviated(start, body, stop int) bool {
	if stop < len(sc.s) && sc.s[stop] == '\n' || stop == len(sc.s) {
		return false
	}
	w := strings.ToLower(sc.s[start:body])
	return abbreviations.Has(w) || body-start == 1 && sc.s[start] >= 'A' && sc.s[start] <= 'Z' && sc.s[start] != 'I'
}

var abbreviations = lazy.Words("mr mrs ms dr prof st vs e.g i.e etc jr sr approx no dept inc ltd co corp u.s u.k a.m p.m ave feat est fig")

// listSign reports whether a run is the sign or number of an item of a list.
func listSign(run string) bool {
	switch run {
	case "-", "*", "•", "–", "—", "+":
		return true
	}
	n := len(run) - 1
	return n > 0 && n < 3 && (run[n] == '.' || run[n] == ')') && run[0] >= '0' && run[0] <= '9'
}

// word adds a run without marks around it, its contraction taken apart.
func (sc *scanner) word(start, end int) {
	w := sc.s[start:end]
	first, _ := utf8.DecodeRuneInString(w)
	low := w
	for i := 0; i < len(w); i++ {
		if c := w[i]; c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			low = strings.ToLower(w)
			break
		}
	}
	if strings.Contains(low, "’") {
		low = strings.ReplaceAll(low, "’", "'")
	}
	add := func(low string, start, end int) {
		sc.words = append(sc.words, word{low: low, start: start, end: end, capital: unicode.IsUpper(first)})
	}
	if two, ok := slurred[low]; ok {
		a, b, _ := strings.Cut(two, " ")
		add(a, start, end)
		add(b, end, end)
		return
	}
	at := strings.LastIndexByte(low, '\'')
	if at <= 0 {
		add(low, start, end)
		return
	}
	base, tail := low[:at], low[at+1:]
	cutAt := start + strings.LastIndexAny(w, "'’")
	switch {
	case tail == "t" && strings.HasSuffix(base, "n"):
		if verb, ok := denials[base]; ok {
			base = verb
		} else {
			base = base[:len(base)-1]
		}
		add(base, start, end)
		add("not", end, end)
	case tail == "m":
		add(base, start, cutAt)
		add("am", cutAt, end)
	case tail == "re":
		add(base, start, cutAt)
		add("are", cutAt, end)
	case tail == "ve":
		add(base, start, cutAt)
		add("have", cutAt, end)
	case tail == "ll":
		add(base, start, cutAt)
		add("will", cutAt, end)
	case tail == "d":
		add(base, start, cutAt)
		add("would", cutAt, end)
	case tail == "s" && isShort.Has(base):
		add(base, start, cutAt)
		add("is", cutAt, end)
	case tail == "s":
		add(base, start, cutAt)
		sc.words[len(sc.words)-1].end = end
		sc.words[len(sc.words)-1].owner = true
	default:
		add(low, start, end)
	}
}

// slurred are contractions written as one word.
var slurred = map[string]string{
	"im": "i am", "ive": "i have", "dont": "do not", "cant": "can not", "cannot": "can not", "wont": "will not",
	"didnt": "did not", "doesnt": "does not", "isnt": "is not", "wasnt": "was not", "havent": "have not", "hasnt": "has not",
	"wanna": "want to", "gonna": "going to", "gotta": "have to", "i'mma": "will be", "thats": "that is", "whats": "what is", "let's": "let us", "lets": "let us",
}

// denials are the verbs whose negation loses letters.
var denials = map[string]string{"can": "can", "won": "will", "ain": "am", "shan": "shall"}

// isShort are words after which 's is "is", not a genitive.
var isShort = lazy.Words("it he she that there here what who where how when this everything everyone name which birthday anniversary")
