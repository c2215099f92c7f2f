package learn

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// token is a word or a number of a text.
type token struct {
	text.Span
	word    string // folded, without what follows an apostrophe
	term    string // its stem, "" for a function word
	number  string // its value in digits, "" for a word
	capital bool
	opens   bool   // it is the first of its sentence
	owner   bool   // it ends in 's
	before  string // what stands between it and the token before
}

var tokenForm = lazy.Compile(`\d+(?:[.,:]\d+)*|\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)*`)

// readTokens reads the words and numbers of a text, "twenty-five" as one number.
func readTokens(s string) []token {
	var out []token
	last := 0
	for _, m := range tokenForm.FindAllStringIndex(s, -1) {
		raw := s[m[0]:m[1]]
		t := token{Span: text.Span{Start: m[0], End: m[1]}, before: s[last:m[0]]}
		last = m[1]
		t.opens = len(out) == 0 || strings.ContainsAny(t.before, ".!?\n:")
		if raw[0] >= '0' && raw[0] <= '9' {
			t.word, t.number = raw, plainNumber(raw)
			out = append(out, t)
			continue
		}
		first, _ := utf8.DecodeRuneInString(raw)
		t.capital = unicode.IsUpper(first)
		t.word, t.owner = bareWord(text.Fold(raw))
		t.term = text.Term(t.word)
		if n, ok := numberTable.Get()[t.word]; ok && (!t.capital || isEnglishNumber(t.word)) {
			t.number = strconv.Itoa(n)
			if k := len(out) - 1; k >= 0 && (t.before == "-" || t.before == " ") {
				if sum := joined(out[k], n); sum > 0 {
					out[k].number, out[k].End = strconv.Itoa(sum), t.End
					continue
				}
			}
		}
		out = append(out, t)
	}
	return out
}

// bareWord cuts "'s", "'m" and the like off a folded word, and "l'" before one.
func bareWord(w string) (word string, owner bool) {
	head, tail, ok := strings.Cut(w, "'")
	switch {
	case !ok, strings.HasSuffix(w, "n't"):
		return w, false
	case len(head) == 1 && head != "i" && tail != "s" && tail != "":
		return tail, false
	}
	return head, tail == "s"
}

// joined returns what a number and the number word after it are together, 0 if they are
// two: "twenty five", "two hundred".
func joined(t token, n int) int {
	before, err := strconv.Atoi(t.number)
	switch {
	case err != nil || t.number == t.word && n < 100:
	case n >= 100 && before > 0 && before < n:
		return before * n
	case before >= 20 && before < 100 && before%10 == 0 && n > 0 && n < 10, before >= 100 && before%100 == 0 && n < 100:
		return before + n
	}
	return 0
}

var thousands = lazy.Compile(`^\d{1,3}(?:[.,]\d{3})+$`)

// plainNumber writes a number as others of its value are written.
func plainNumber(s string) string {
	if thousands.MatchString(s) {
		return strings.NewReplacer(".", "", ",", "").Replace(s)
	}
	s = strings.ReplaceAll(s, ",", ".")
	if whole, part, ok := strings.Cut(s, "."); ok && strings.Trim(part, "0") == "" {
		s = whole
	}
	if len(s) > 1 && !strings.ContainsAny(s, ".:") {
		s = strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:]
	}
	return s
}

// isEnglishNumber leaves out words that are numbers in another language only.
func isEnglishNumber(w string) bool {
	_, ok := numberWord(w)
	return ok || w == "twice" || w == "dozen"
}

// tokensIn returns the tokens of a span.
func tokensIn(all []token, span text.Span) []token {
	return slices.DeleteFunc(slices.Clone(all), func(t token) bool { return t.End <= span.Start || t.Start >= span.End })
}

// wordsAsSaid returns the part of a text that words are of, all of it if they are of another.
func wordsAsSaid(words []token, s string) string {
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

func negates(t token) bool { return denying.Has(t.word) || strings.HasSuffix(t.word, "n't") }

func otherScript(words []token) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		r, _ := utf8.DecodeRuneInString(t.word)
		return r >= 0x370
	})
}

// isForeign reports whether words are of another language than English.
func isForeign(words []token) bool {
	own, other := 0, 0
	for _, t := range words {
		if englishWords.Has(t.word) {
			own++
		}
		if otherWords.Has(t.word) {
			other++
		}
	}
	return other > own || otherScript(words)
}

// sameWord reports whether two words are one, if with a typo.
func sameWord(a, b token) bool {
	return a.word == b.word || a.number != "" && a.number == b.number ||
		a.number == "" && b.number == "" && len(a.word) > 4 && len(b.word) > 4 && a.word[0] == b.word[0] && !negates(a) && !negates(b) && oneSlip(a.word, b.word)
}

// alike reports whether two words mean much the same.
func alike(a, b token) bool {
	switch {
	case a.number != "" && b.number != "":
		return a.number == b.number
	case a.term == "" || b.term == "":
		return false
	case a.term == b.term, len(a.word) >= 5 && len(b.word) >= 5 && a.word[:4] == b.word[:4]:
		return true
	}
	m, p := oneMeaning.Get(), persons.Get()
	return p[a.word].group != "" && p[a.word].group == p[b.word].group || m[a.term] != "" && m[a.term] == m[b.term] || slices.Contains(text.Related(a.term), b.term)
}

// uncounted reports numbers that nobody said, or for which the quoted words have another.
func (g *grounds) uncounted() string {
	around, turn := numbersOf(g.around), numbersOf(g.turn)
	shares, absent := false, false
	start, end := sentenceAround(g.said.Text, g.span)
	numbers := g.factNumbers()
	for _, t := range numbers {
		if !isAmong(around, t.number) && !g.yearFits(atoi(t.number)) {
			return "nobody said " + g.claim.Text[t.Start:t.End]
		}
		shares = shares || isAmong(numbersOf(g.quote), t.number)
		absent = absent || !isAmong(turn, t.number)
	}
	quote := g.quote
	if absent {
		quote = tokensIn(g.turn, text.Span{Start: start, End: end})
	}
	other := slices.ContainsFunc(quote, func(q token) bool {
		return q.number != "" && q.number != "1" && !slices.ContainsFunc(g.fact, func(f token) bool { return f.number != "" && isAmong(map[string]bool{q.number: true}, f.number) })
	})
	if g.placed && len(numbers) > 0 && other && (!shares || absent) {
		return "the quoted words have another number"
	}
	return ""
}

// factNumbers returns the claim's numbers that are not part of a date.
func (g *grounds) factNumbers() (out []token) {
	dates := g.dates()
	for _, t := range g.fact {
		inDate := slices.ContainsFunc(dates, func(d text.Date) bool { return t.Start < d.End && d.Start < t.End })
		if t.number != "" && t.number != "1" && !inDate && (t.word[0] < 'a' || t.number != "0" && !ordinals.Has(t.word) && isEnglishNumber(t.word)) {
			out = append(out, t)
		}
	}
	return out
}

// numbersOf returns the numbers that words give, in all the forms that they may have.
func numbersOf(words []token) map[string]bool {
	out := map[string]bool{}
	for i, t := range words {
		switch t.word {
		case "half", "halb", "media":
			out["0.5"], out["30"] = true, true
		case "quarter":
			out["15"] = true
		}
		if t.number == "" {
			continue
		}
		out[t.number] = true
		if hour, minutes, ok := strings.Cut(t.number, ":"); ok {
			out[hour] = true
			out[minutes] = out[minutes] || atoi(minutes) > 0
		}
		if f, err := strconv.ParseFloat(t.number, 64); err == nil && i+1 < len(words) && words[i+1].before == "" && words[i+1].word == "k" {
			out[strconv.FormatFloat(f*1000, 'f', -1, 64)] = true
		}
	}
	return out
}

// isAmong reports whether a number is among those, as an hour of the afternoon too.
func isAmong(numbers map[string]bool, n string) bool {
	afternoon := func(n string) bool { h := atoi(n); return h >= 13 && h <= 23 && numbers[strconv.Itoa(h-12)] }
	hour, minutes, ok := strings.Cut(n, ":")
	return numbers[n] || afternoon(n) || ok && (numbers[hour] || afternoon(hour)) && (atoi(minutes) == 0 || numbers[minutes])
}

// yearFits reports whether an age or a number of years leads to a year.
func (g *grounds) yearFits(year int) bool {
	now := g.said.Turn.CreatedAt.Year()
	for i, t := range g.around {
		n := atoi(t.number)
		if t.number == "" || n > 110 || n < 12 && (i+1 == len(g.around) || unitDays.Get()[g.around[i+1].word] != 365) {
			continue
		}
		if year == now-n || year == now-n-1 || year == now+n {
			return true
		}
	}
	return false
}

// misbound reports a number or a day of the claim that the turn gives to something else,
// while what the claim speaks of has another one: of "Theo's 4 and Mila's 7", "Mila is 4".
func (g *grounds) misbound() string {
	for _, v := range g.fact {
		var own []token
		for i, t := range g.turn {
			if isValue(v) && v.number != "1" && sameValue(v, t) {
				own = append(own, ownersOf(g.turn, i)...)
			}
		}
		if len(own) == 0 || g.speaksOf(own) {
			continue
		}
		for i, t := range g.turn {
			if isValue(t) && t.number != "1" && !slices.ContainsFunc(g.fact, func(f token) bool { return sameValue(f, t) }) && g.speaksOf(ownersOf(g.turn, i)) {
				return "the turn has " + t.word + " there"
			}
		}
	}
	return ""
}

// isValue reports whether a word is a number or a day of the week.
func isValue(t token) bool {
	_, day := dayTable.Get()[t.word]
	return t.number != "" || day
}

func sameValue(a, b token) bool {
	x, day := dayTable.Get()[a.word]
	y, also := dayTable.Get()[b.word]
	return a.number != "" && a.number == b.number || day && also && x == y
}

// ownersOf returns what value i is said of: the word before it, but for such as link them,
// and the one after "for".
func ownersOf(words []token, i int) (out []token) {
	j := i
	for j > 0 && !isPause(words[j].before) && (linking.Has(words[j-1].word) || isCalendar(words[j-1].word)) {
		j--
	}
	if j > 0 && !isPause(words[j].before) && !isValue(words[j-1]) && !speakerWords.Has(words[j-1].word) {
		out = append(out, words[j-1])
	}
	if i+2 < len(words) && words[i+1].word == "for" && !isPause(words[i+1].before) {
		out = append(out, words[i+2])
	}
	return out
}

// speaksOf reports whether the claim has one of some words.
func (g *grounds) speaksOf(words []token) bool {
	return slices.ContainsFunc(words, func(w token) bool {
		return slices.ContainsFunc(g.fact, func(f token) bool { return f.word == w.word || alike(f, w) })
	})
}

// exchanged reports a word that was said elsewhere and stands in the claim where the quoted
// words have another: "liked Leeds better" of "liked York better".
func (g *grounds) exchanged() string {
	among := func(words []token, t token) bool {
		return slices.ContainsFunc(words, func(w token) bool { return alike(t, w) || sameName(t.word, w) })
	}
	for i := 1; g.placed && i < len(g.fact); i++ {
		t, before := g.fact[i], g.fact[i-1]
		if t.term == "" || t.number != "" || among(g.phrase, t) || !among(g.around, t) {
			continue
		}
		for k := 1; k < len(g.phrase); k++ {
			x, lead := g.phrase[k], g.phrase[k-1]
			if x.term == "" || among(g.fact, x) || before.word != lead.word && (before.term == "" || before.term != lead.term) {
				continue
			}
			follows := i+1 < len(g.fact) && k+1 < len(g.phrase) && g.fact[i+1].term != "" && g.fact[i+1].word == g.phrase[k+1].word
			led := before.term == "" && !unslotted.Has(before.word) && i >= 2 && g.fact[i-2].term != "" && among(g.phrase[:k-1], g.fact[i-2])
			if follows || led || titles.Has(before.word) {
				return "the quoted words have " + x.word + " for " + t.word
			}
		}
	}
	return ""
}

// dates returns the days, months and years that a claim names.
func (g *grounds) dates() []text.Date { return text.Resolve(g.claim.Text, g.said.Turn.CreatedAt) }

// undated reports a date that nobody said, or for which the quoted words have another.
func (g *grounds) undated() string {
	at := g.said.Turn.CreatedAt
	if at.IsZero() {
		return ""
	}
	dates := g.dates()
	fits := func(words []token) func(text.Date) bool {
		return func(d text.Date) bool { return g.dated(d, words) }
	}
	for _, d := range dates {
		if !g.dated(d, g.around) && !(isYear(d) && g.yearFits(d.From.Year())) {
			return "nobody said " + d.From.Format(time.DateOnly)
		}
	}
	if len(dates) > 0 && g.placed && hasDate(g.phrase) && !slices.ContainsFunc(dates, fits(g.phrase)) && !slices.ContainsFunc(dates, isYear) {
		return "the quoted words have another date"
	}
	return ""
}

func isYear(d text.Date) bool { return d.To.Sub(d.From) > 300*24*time.Hour }

// dated reports whether words may mean a date: they have its parts, or it is as far away
// as they say.
func (g *grounds) dated(d text.Date, words []token) bool {
	at := g.said.Turn.CreatedAt.UTC()
	today := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	for _, r := range g.resolved(words) {
		if d.From.Before(r.To) && r.From.Before(d.To) && r.To.Sub(r.From) <= max(d.To.Sub(d.From), 8*24*time.Hour) {
			return true
		}
	}
	if isYear(d) {
		return hasWord(words, d.From.Format("2006")) || g.apart(words, today, d.From, d.To)
	}
	months, num, year := map[int]bool{}, false, d.From.Year() == today.Year()
	for i, t := range words {
		if m, ok := monthTable.Get()[t.word]; ok {
			months[m] = true
		}
		year = year || atoi(t.number) == d.From.Year() || d.From.Year() == today.Year()+1 || d.From.Year() == today.Year()-1
		num = num || atoi(t.number) == d.From.Day() && (isDay(words, i) || len(months) > 0 || hasMonth(words[i:min(len(words), i+3)]))
		if day, ok := dayTable.Get()[t.word]; ok && day == int(d.From.Weekday()) && near(d.From, today, 14) {
			return true
		}
		if n, ok := relativeDays.Get()[t.word]; ok && (today.AddDate(0, 0, n).Equal(d.From) || n == 1 && today.AddDate(0, 0, 2).Equal(d.From)) {
			return true
		}
	}
	if d.To.Sub(d.From) > 8*24*time.Hour { // a month
		return year && months[int(d.From.Month())-1] || g.apart(words, today, d.From, d.To)
	}
	all := months
	if len(months) == 0 {
		all = map[int]bool{}
		for _, t := range g.around {
			if m, ok := monthTable.Get()[t.word]; ok {
				all[m] = true
			}
		}
	}
	return num && year && (all[int(d.From.Month())-1] || len(months) == 0 && near(d.From, today, 130)) || g.apart(words, today, d.From, d.To)
}

func near(a, b time.Time, days int) bool {
	return a.Sub(b).Abs() <= time.Duration(days)*24*time.Hour
}

// resolved returns the dates that package text finds in words.
func (g *grounds) resolved(words []token) []text.Date {
	at := g.said.Turn.CreatedAt
	if len(words) != len(g.around) {
		return text.Resolve(wordsAsSaid(words, g.said.Text), at)
	}
	var out []text.Date
	for _, s := range slices.Concat([]string{g.said.Text, g.said.Before}, g.said.Earlier, g.said.Background) {
		out = append(out, text.Resolve(s, at)...)
	}
	return out
}

// apart reports whether words say how far away a time is: "in two weeks", "next month".
func (g *grounds) apart(words []token, today, from, to time.Time) bool {
	for i, t := range words {
		days, ok := unitDays.Get()[t.word]
		if !ok {
			continue
		}
		counts := []int{0}
		for k := max(0, i-3); k < min(len(words), i+2); k++ {
			switch n := atoi(words[k].number); {
			case words[k].number != "" && n < 200:
				counts = append(counts, n, -n)
			case nextWords.Has(words[k].word):
				counts = append(counts, 1)
			case lastWords.Has(words[k].word):
				counts = append(counts, -1)
			}
		}
		for _, n := range counts {
			begin, end := today.AddDate(0, 0, n), today.AddDate(0, 0, n+1)
			switch days {
			case 7:
				begin = today.AddDate(0, 0, -(int(today.Weekday())+6)%7+7*n)
				end = begin.AddDate(0, 0, 7)
			case 30:
				begin = time.Date(today.Year(), today.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
				end = begin.AddDate(0, 1, 0)
			case 365:
				begin = time.Date(today.Year()+n, 1, 1, 0, 0, 0, 0, time.UTC)
				end = begin.AddDate(1, 0, 0)
			}
			if from.Before(end) && begin.Before(to) && end.Sub(begin) <= max(to.Sub(from), 8*24*time.Hour) {
				return true
			}
		}
	}
	return false
}

func hasMonth(words []token) bool {
	return slices.ContainsFunc(words, func(t token) bool { _, ok := monthTable.Get()[t.word]; return ok })
}

// hasDate reports whether words name a day or a month.
func hasDate(words []token) bool {
	for i, t := range words {
		_, month := monthTable.Get()[t.word]
		_, day := dayTable.Get()[t.word]
		n, relative := relativeDays.Get()[t.word]
		if month || day || relative && n != 0 || t.number != "" && isDay(words, i) {
			return true
		}
	}
	return false
}

// isDay reports whether a number is a day of a month: "the 18th", "til 20.", "3/5".
func isDay(words []token, i int) bool {
	if n := atoi(words[i].number); n < 1 || n > 31 {
		return false
	}
	if i+1 < len(words) {
		next := words[i+1]
		if next.before == "" && (next.word == "st" || next.word == "nd" || next.word == "rd" || next.word == "th") || next.before == "/" || next.before == "." {
			return true
		}
	}
	return words[i].before == "/" || words[i].before == "." || i > 0 && beforeDays.Has(words[i-1].word)
}

func isCalendar(word string) bool {
	_, month := monthTable.Get()[word]
	_, day := dayTable.Get()[word]
	return month || day
}
