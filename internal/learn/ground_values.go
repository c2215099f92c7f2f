package learn

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
)

// token is a word or a number of a text.
type token struct {
	text.Span
	word           string // the folded word, without "'s" and the like
	term           string // the word's stem, "" for a function word
	number         string // the number in digits, "" for other words
	isCapitalized  bool
	isAcronym      bool   // at most four letters, all capitals
	beginsSentence bool   // the token is the first word of its sentence
	isPossessive   bool   // the word ends in 's
	precedingText  string // the text between this token and the previous one
}

func readTokens(s string) []token {
	var out []token
	last := 0
	for _, span := range text.WordSpans(s) {
		raw, before := span.Slice(s), s[last:span.Start]
		word := text.Fold(raw)
		last = span.End
		if k := len(out) - 1; k >= 0 && (before == "'" || before == "’") && len(word) <= 2 {
			out[k].End, out[k].isPossessive = span.End, word == "s"
			if word == "t" {
				out[k].word, out[k].term = out[k].word+"'t", ""
			}
			continue
		}
		first, _ := utf8.DecodeRuneInString(raw)
		t := token{Span: span, word: word, term: text.Term(word), isCapitalized: unicode.IsUpper(first), precedingText: before}
		t.isAcronym = t.isCapitalized && len(raw) <= 4 && strings.ToUpper(raw) == raw
		t.beginsSentence = len(out) == 0 || strings.ContainsAny(before, ".!?\n:")
		if n := text.Numbers(word); len(n) == 1 {
			t.number = n[0]
			if at := strings.LastIndexAny(word, ".,"); at > 0 && len(word)-at != 4 { // "1,75"
				t.number = word[:at] + "." + word[at+1:]
			} else if at > 0 { // "19.000"
				t.number = strings.ReplaceAll(n[0], ".", "")
			}
			t.number = strings.TrimLeft(t.number[:len(t.number)-1], "0") + t.number[len(t.number)-1:]
			if word[0] <= '9' {
				t.term = ""
			} else if k := len(out) - 1; k >= 0 && before == "-" && atoi(t.number) < 10 { // "twenty-five"
				out[k].number, out[k].End = strconv.Itoa(atoi(out[k].number)+atoi(t.number)), span.End
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

func tokensIn(tokens []token, span text.Span) []token {
	return slices.DeleteFunc(slices.Clone(tokens), func(t token) bool { return t.End <= span.Start || t.Start >= span.End })
}

// sourceText returns the part of s that contains the words, or all of s if they come from another text.
func sourceText(words []token, s string) string {
	if len(words) == 0 {
		return ""
	}
	if words[len(words)-1].End > len(s) {
		return s
	}
	return s[words[0].Start:words[len(words)-1].End]
}

func hasWord(words []token, word string) bool {
	return slices.ContainsFunc(words, func(t token) bool { return t.word == word })
}

func hasNumber(words []token) bool {
	return slices.ContainsFunc(words, func(t token) bool { return t.number != "" })
}

func isPause(s string) bool { return strings.ContainsAny(s, ".,;!?\n") }

func isNegation(t token) bool { return text.HasNegation(t.word) || foreignDenials.Has(t.word) }

func hasNonLatinWord(words []token) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		r, _ := utf8.DecodeRuneInString(t.word)
		return r >= 0x370
	})
}

// isForeign reports whether words are in a language other than English: few are English function words.
func isForeign(words []token) bool {
	small := 0
	for _, t := range words {
		if t.term == "" {
			small++
		}
	}
	return len(words) > 3 && small*7 < len(words) || hasNonLatinWord(words)
}

// similarWords reports whether two words have nearly the same meaning, or the same number.
func similarWords(a, b token) bool {
	switch {
	case a.number != "" && b.number != "":
		return a.number == b.number
	case a.term == "" || b.term == "":
		return false
	case a.term == b.term, len(a.word) >= 5 && len(b.word) >= 5 && a.word[:4] == b.word[:4]:
		return true
	}
	m := chatSynonyms()
	return m[a.term] != "" && m[a.term] == m[b.term] || slices.Contains(text.Synonyms(a.term), b.term)
}

// checkNumbers returns a reason if nobody mentioned a number of the claim, or the quote has another number.
func (g *evidence) checkNumbers() string {
	mentioned, turn := numberForms(g.contextTokens), numberForms(g.turnTokens)
	isInQuote, isMissing := false, false
	start, end := sentenceAround(g.utterance.Text, g.span)
	numbers := g.claimNumbers()
	for _, t := range numbers {
		if !hasNumberValue(mentioned, t.number) {
			return "nobody mentioned " + g.claim.Text[t.Start:t.End]
		}
		isInQuote = isInQuote || hasNumberValue(numberForms(g.quoteTokens), t.number)
		isMissing = isMissing || !hasNumberValue(turn, t.number)
	}
	quote := g.quoteTokens
	if isMissing {
		quote = tokensIn(g.turnTokens, text.Span{Start: start, End: end})
	}
	other := slices.ContainsFunc(quote, func(q token) bool {
		return q.number != "" && q.number != "1" && !slices.ContainsFunc(g.claimTokens, func(f token) bool { return f.number != "" && hasNumberValue(map[string]bool{q.number: true}, f.number) })
	})
	if g.hasQuote && len(numbers) > 0 && other && (!isInQuote || isMissing) {
		return "the quoted words have another number"
	}
	return ""
}

// claimNumbers returns the claim's numbers, except numbers in dates.
func (g *evidence) claimNumbers() (out []token) {
	dates := g.claimDates()
	for _, t := range g.claimTokens {
		inDate := slices.ContainsFunc(dates, func(d text.Date) bool { return t.Start < d.End && d.Start < t.End })
		if t.number != "" && t.number != "1" && !inDate && !(g.isForeign && (t.word[0] >= 'a' || !hasNumber(g.turnTokens))) {
			out = append(out, t)
		}
	}
	return out
}

// numberForms returns the numbers in words, each in all forms: "8k" is also "8000".
func numberForms(words []token) map[string]bool {
	out := map[string]bool{}
	previousNumber, minutes := 0, 0 // minutes is 15 in "quarter to seven"
	for i, t := range words {
		n := atoi(t.number)
		switch t.word {
		case "half":
			out["0.5"], out["30"] = true, true
		case "quarter":
			n = 15
			out["15"] = i+1 == len(words) || words[i+1].word != "to"
		case "to":
			minutes = previousNumber
			continue
		}
		if i > 0 && words[i-1].word == "to" && minutes > 0 && n > 0 {
			out[strconv.Itoa(n-1)], out[strconv.Itoa(60-minutes)] = true, true
		}
		if t.number != "" {
			out[t.number], out[strconv.Itoa(previousNumber*n)] = true, true // "two hundred"
		}
		if hour, minute, ok := splitClock(t.number); ok {
			out[hour], out[minute] = true, true
		}
		if strings.HasSuffix(t.word, "k") {
			out[t.number+"000"] = true
		}
		previousNumber = n
	}
	return out
}

// splitClock splits a time written with a full stop: "8.15" means 8:15.
func splitClock(number string) (hour, minute string, ok bool) {
	hour, minute, ok = strings.Cut(number, ".")
	return hour, minute, ok && len(minute) == 2 && atoi(hour) < 24 && atoi(minute) < 60
}

// hasNumberValue reports whether numbers contains n, either directly or as an afternoon hour.
func hasNumberValue(numbers map[string]bool, n string) bool {
	h := atoi(n)
	if hour, minute, ok := splitClock(n); ok && numbers[hour] && numbers[minute] {
		return true
	}
	return numbers[n] || h >= 13 && h <= 23 && numbers[strconv.Itoa(h-12)]
}

// checkValueOwners returns a reason if a number or day of the claim belongs to another word in the turn:
// the claim "Mila is 4" from "Theo's 4 and Mila's 7".
func (g *evidence) checkValueOwners() string {
	for _, v := range g.claimTokens {
		var own []token
		for i, t := range g.turnTokens {
			if isValue(v) && v.number != "1" && sameValue(v, t) {
				own = append(own, ownerWords(g.turnTokens, i)...)
			}
		}
		if len(own) == 0 || g.mentionsAny(own) {
			continue
		}
		for i, t := range g.turnTokens {
			if isValue(t) && t.number != "1" && !slices.ContainsFunc(g.claimTokens, func(f token) bool { return sameValue(f, t) }) && g.mentionsAny(ownerWords(g.turnTokens, i)) {
				return "the turn has " + t.word + " in its place"
			}
		}
	}
	return ""
}

func isValue(t token) bool {
	return t.number != "" || isWeekday(t)
}

func isWeekday(t token) bool { return text.ClassesOf(t.term)&text.ClassesNamed("weekday") != 0 }

func sameValue(a, b token) bool { return a.number == b.number && (a.number != "" || a.term == b.term) }

// ownerWords returns the word to which value i belongs, if any: the previous word that is not a linking word.
func ownerWords(words []token, valueIndex int) (out []token) {
	j := valueIndex
	for j > 0 && !isPause(words[j].precedingText) && (linkingWords.Has(words[j-1].word) || text.IsTimeWord(words[j-1].word)) {
		j--
	}
	if j > 0 && !isPause(words[j].precedingText) && !isValue(words[j-1]) && !speakerWords.Has(words[j-1].word) {
		out = append(out, words[j-1])
	}
	return out
}

// mentionsAny reports whether the claim contains one of words.
func (g *evidence) mentionsAny(words []token) bool {
	return slices.ContainsFunc(words, func(w token) bool {
		return slices.ContainsFunc(g.claimTokens, func(f token) bool { return f.word == w.word || similarWords(f, w) })
	})
}

// checkSwappedWords returns a reason if the claim has another word of the turn in the place of a quoted word:
// "liked Leeds better" for "liked York better".
func (g *evidence) checkSwappedWords() string {
	hasSimilar := func(words []token, t token) bool {
		return slices.ContainsFunc(words, func(w token) bool { return similarWords(t, w) || sameName(t.word, w) })
	}
	for i := 1; g.hasQuote && i < len(g.claimTokens); i++ {
		t, before := g.claimTokens[i], g.claimTokens[i-1]
		if t.term == "" || t.number != "" || hasSimilar(g.phraseTokens, t) || !hasSimilar(g.contextTokens, t) {
			continue
		}
		for k := 1; k < len(g.phraseTokens); k++ {
			x, lead := g.phraseTokens[k], g.phraseTokens[k-1]
			if x.term == "" || isTimeWord(x.word) || hasSimilar(g.claimTokens, x) || before.word != lead.word && (before.term == "" || before.term != lead.term) {
				continue
			}
			follows := i+1 < len(g.claimTokens) && k+1 < len(g.phraseTokens) && g.claimTokens[i+1].term != "" && g.claimTokens[i+1].word == g.phraseTokens[k+1].word
			led := before.term == "" && !functionWords.Has(before.word) && i >= 2 && g.claimTokens[i-2].term != "" && hasSimilar(g.phraseTokens[:k-1], g.claimTokens[i-2])
			if follows || led || titles.Has(before.word) {
				return "the quoted words have " + x.word + " for " + t.word
			}
		}
	}
	return ""
}

func (g *evidence) claimDates() []text.Date {
	return text.ResolveDates(g.claim.Text, g.utterance.Turn.CreatedAt)
}

// checkDates returns a reason if the claim has a date that nobody mentioned, or another date than the quote.
func (g *evidence) checkDates() string {
	at := g.utterance.Turn.CreatedAt
	if at.IsZero() {
		return ""
	}
	dates := g.claimDates()
	fits := func(words []token) func(text.Date) bool {
		return func(d text.Date) bool { return g.meansDate(d, words) }
	}
	undated := len(g.datesIn(g.phraseTokens)) == 0
	for _, d := range dates {
		if undated && d.Precision != text.Week && !at.Before(d.From) && at.Before(d.To) {
			continue // the quote has no date, and the claim dates it by the day of its turn
		}
		if !(g.isForeign && !hasNumber(g.phraseTokens) && withinAYear(d.From, at) && (d.Precision != text.Day || d.From.Sub(at).Abs() < 8*24*time.Hour)) && !g.meansDate(d, g.contextTokens) {
			return "nobody mentioned " + d.From.Format(time.DateOnly)
		}
	}
	if len(dates) > 0 && g.hasQuote && hasDate(g.phraseTokens) && !slices.ContainsFunc(dates, fits(g.phraseTokens)) && !slices.ContainsFunc(dates, isYear) {
		return "the quoted words have another date"
	}
	return ""
}

// withinAYear reports whether two times are less than 400 days apart, so that people may omit the year.
func withinAYear(a, b time.Time) bool { return a.Sub(b).Abs() < 400*24*time.Hour }

func hasDate(words []token) bool {
	for i, t := range words {
		month := text.ClassesOf(t.term)&text.ClassesNamed("month") != 0
		if isWeekday(t) || month && i > 0 && words[i-1].word == "in" || t.term == "" && t.number != "" && t.number != t.word {
			return true
		}
	}
	return false
}

func isYear(d text.Date) bool { return d.To.Sub(d.From) > 300*24*time.Hour }

// meansDate reports whether words may mean a date: they contain a part of the date, or resolve to the date.
func (g *evidence) meansDate(d text.Date, words []token) bool {
	now := g.utterance.Turn.CreatedAt
	for _, r := range g.datesIn(words) {
		for year := -1; year <= 1; year++ { // people seldom mention the year
			from, to := r.From.AddDate(year, 0, 0), r.To.AddDate(year, 0, 0)
			if (year == 0 || r.IsRelative) && d.From.Before(to) && from.Before(d.To) && to.Sub(from) <= max(d.To.Sub(d.From), 8*24*time.Hour) {
				return true
			}
		}
	}
	maxDistance := 8 * 24 * time.Hour
	if hasWord(words, "next") {
		maxDistance = 12 * 24 * time.Hour
	}
	day, month := strings.ToLower(d.From.Weekday().String()), strings.ToLower(d.From.Month().String())
	return slices.ContainsFunc(words, func(t token) bool {
		switch {
		case isYear(d):
			return t.number == d.From.Format("2006")
		case t.number == "" && len(t.word) > 2 && strings.HasPrefix(t.word, day[:3]) && d.From.Sub(now).Abs() < maxDistance:
			return len(text.ResolveDates("on "+strings.TrimSuffix(t.word, "s"), now)) > 0
		}
		if d.Precision == text.Month && len(t.word) > 2 && withinAYear(d.From, now) && strings.HasPrefix(month, t.word) {
			return true
		}
		return (g.isForeign || t.number != t.word && t.word[0] <= '9') && atoi(t.number) == d.From.Day() // "the 13th"
	})
}

// shortForms expands abbreviations in dates.
var shortForms = strings.NewReplacer("tmrw", "tomorrow", "tmr ", "tomorrow ")

func (g *evidence) datesIn(words []token) []text.Date {
	at := g.utterance.Turn.CreatedAt
	if len(words) != len(g.contextTokens) {
		return text.ResolveDates(shortForms.Replace(sourceText(words, g.utterance.Text)), at)
	}
	var out []text.Date
	for _, s := range slices.Concat([]string{g.utterance.Text, g.utterance.AnsweredMessage}, g.utterance.EarlierMessages, g.utterance.StoredMemories) {
		out = append(out, text.ResolveDates(shortForms.Replace(s), at)...)
	}
	return out
}
