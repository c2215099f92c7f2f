package english

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Statement is a clause that states or requests something.
type Statement struct {
	text.Span
	Tokens []Token
	// IsRequest is set for a request: "always answer in French".
	IsRequest bool
	// IsAfterGreeting is set if a greeting precedes the clause.
	IsAfterGreeting bool
	// InheritsSubject is set if the clause omits its subject, which is the subject of the previous statement.
	InheritsSubject bool
	// BeginsSentence is set if the clause begins a sentence. People omit "I" there.
	BeginsSentence bool
	// Conjunction is the word that joins the clause to the text before it, or "".
	Conjunction string

	source    string
	writtenAt time.Time
}

// StatementOf returns a part of a message as one statement, regardless of its mood.
func StatementOf(message string, part text.Span, writtenAt time.Time) Statement {
	return Statement{Span: part, Tokens: Tokens(message, part), source: message, writtenAt: writtenAt}
}

// WordAt returns token i in lower case, or "" if i is out of range.
func (s *Statement) WordAt(i int) string {
	if i < 0 || i >= len(s.Tokens) {
		return ""
	}
	return s.Tokens[i].Lower
}

// Text returns the source of tokens i up to j, without asterisks and unpaired quotation marks.
func (s *Statement) Text(i, j int) string {
	if i >= j {
		return ""
	}
	out := s.source[s.Tokens[i].Start:s.Tokens[j-1].End]
	if s.Tokens[i].Start == s.Tokens[i].End { // an empty token: the second word of "wanna"
		out = s.Tokens[i].Lower + out
	}
	out = strings.ReplaceAll(out, "*", "")
	if strings.Count(out, `"`)%2 == 1 {
		out = strings.ReplaceAll(out, `"`, "")
	}
	return out
}

// Source returns the source text of a token.
func (s *Statement) Source(t Token) string { return t.Slice(s.source) }

// Dates returns the dates in tokens i up to j. Their spans are offsets in [Statement.Text].
func (s *Statement) Dates(i, j int) []text.Date {
	if i >= j {
		return nil
	}
	return text.ResolveDates(s.Text(i, j), s.writtenAt)
}

// WrittenAt returns the time of the statement's message.
func (s *Statement) WrittenAt() time.Time { return s.writtenAt }

// maxStatementTokens is the maximum number of tokens of a statement; longer statements are skipped.
const maxStatementTokens = 60

// Statements returns the statements and requests in a message. It skips questions, hypothetical cases,
// reported speech and pasted text.
func Statements(message string, sentences []Sentence, writtenAt time.Time) (out []Statement) {
	greeted := false
	for _, sentence := range sentences {
		if sentence.IsPasted {
			greeted = false
			continue
		}
		first := true
		for i := 0; i < len(sentence.Clauses); i++ {
			c := sentence.Clauses[i]
			end := i
			for c.Mood == MoodStatement && end+1 < len(sentence.Clauses) && sentence.Clauses[end+1].Mood == MoodStatement {
				end++
			}
			span := text.Span{Start: c.Start, End: sentence.Clauses[end].End}
			i = end
			if c.Mood == MoodQuestion {
				greeted = false
				continue
			}
			tokens := Tokens(message, span)
			if c.Mood == MoodGreeting || len(tokens) == 0 {
				greeted = greeted || c.Mood == MoodGreeting && slices.ContainsFunc(tokens, func(t Token) bool { return greetingWords.Has(t.Lower) })
				continue
			}
			if IsHypothetical(tokens) || isReportedSpeech(tokens) {
				break // the rest of the sentence states no fact either
			}
			for _, s := range splitStatements(tokens) {
				s.source, s.writtenAt, s.IsRequest = message, writtenAt, c.Mood == MoodRequest
				s.IsAfterGreeting, s.BeginsSentence = greeted, s.BeginsSentence && first
				if len(s.Tokens) <= maxStatementTokens {
					out = append(out, s)
				}
			}
			greeted, first = false, false
		}
	}
	return out
}

var (
	// doubtWords are words of doubt. hypotheticalWords make a sentence hypothetical. reportVerbs introduce other
	// people's words. After "in", fictionWords mean an invented story.
	doubtWords        = lazy.Words("could might maybe perhaps supposedly allegedly almost nearly apparently hypothetically wish")
	hypotheticalWords = lazy.Words("example assume assuming if unless whether suppose supposing imagine pretend pretending")
	reportVerbs       = lazy.Words("says said wrote told tells asked claims claimed quote quoted according rumor rumour rumors")
	fictionWords      = lazy.Words("story novel dream movie film character")
)

// IsHypothetical reports whether a sentence is hypothetical or fiction.
func IsHypothetical(tokens []Token) bool {
	for i, t := range tokens {
		switch {
		case hypotheticalWords.Has(t.Lower):
			courtesy := t.Lower == "if" && i+2 < len(tokens) && (tokens[i+1].Lower == "it" || tokens[i+1].Lower == "that") && (tokens[i+2].Lower == "helps" || tokens[i+2].Lower == "matters")
			return !courtesy
		case fictionWords.Has(t.Lower) && i > 1 && tokens[i-2].Lower == "in":
			return true
		}
	}
	return false
}

// isReportedSpeech reports whether a sentence has reported speech. "Told" after a comma or "and" does not count,
// because its subject is the speaker: "I'm allergic to cats, told her no way".
func isReportedSpeech(tokens []Token) bool {
	for i, t := range tokens {
		if !reportVerbs.Has(t.Lower) || i > 0 && (tokens[i-1].Lower == "i" || tokens[i-1].Lower == "have") {
			continue
		}
		if t.Lower != "told" || i == 0 || tokens[i-1].Lower != "," && tokens[i-1].Lower != "and" {
			return true
		}
	}
	return false
}

var (
	// clauseOpeners are pronouns and other words that begin a clause. nounOpeners precede a noun that begins a clause.
	clauseOpeners = lazy.Words("i we he she it they you there please everyone nobody let")
	nounOpeners   = lazy.Words("my our his her their your this that the these those its")
	// conjunctions join clauses.
	conjunctions = lazy.Words("and but so because though although while whereas plus since as when before after until then where which who or")
	// presentSecondVerbs may be the second verb of "I" in the present tense: "I live and work in Rome".
	presentSecondVerbs = lazy.Words("wear live work study love hate enjoy prefer have own drive play speak teach run dislike need use volunteer am can do")
)

// IsConjunction reports whether a lower-case word joins clauses.
func IsConjunction(word string) bool { return conjunctions.Has(word) }

// splitStatements splits the tokens of a sentence into statements.
func splitStatements(tokens []Token) (out []Statement) {
	start, conjunction, inherits := 0, "", false
	addStatement := func(end int) {
		from := start
		for from < end && tokens[from].IsMark() {
			from++
		}
		for end > from && tokens[end-1].IsMark() && tokens[end-1].Lower != ")" {
			end--
		}
		if from == end || slices.ContainsFunc(tokens[from:end], func(t Token) bool { return doubtWords.Has(t.Lower) }) {
			return
		}
		out = append(out, Statement{Span: text.Span{Start: tokens[from].Start, End: tokens[end-1].End}, Tokens: tokens[from:end:end],
			InheritsSubject: inherits, BeginsSentence: start == 0, Conjunction: conjunction})
	}
	for i := 1; i < len(tokens)-1; i++ {
		mark := tokens[i].IsMark()
		if !mark && !conjunctions.Has(tokens[i].Lower) {
			continue
		}
		next, joined := i, ""
		for next < len(tokens) && (tokens[next].IsMark() || conjunctions.Has(tokens[next].Lower)) {
			if !tokens[next].IsMark() {
				joined = tokens[next].Lower
			}
			mark = mark || tokens[next].IsMark()
			next++
		}
		if next == len(tokens) {
			break
		}
		atClauseEnd := mark && tokens[i].Lower != ","
		inherited := (joined == "" && mark || joined == "and" || joined == "but" || joined == "then") && isSecondVerb(tokens[start:i], tokens[next:])
		if atClauseEnd || inherited || beginsClause(tokens[next:]) {
			addStatement(i)
			start, conjunction, inherits = next, joined, inherited
		}
		i = next - 1
	}
	addStatement(len(tokens))
	return out
}

// beginsClause reports whether tokens begin with the subject of a clause.
func beginsClause(tokens []Token) bool {
	i := 0
	if len(tokens) > 2 && (tokens[0].Lower == "turns" || tokens[0].Lower == "turned") && tokens[1].Lower == "out" {
		i = 2
	}
	for i < len(tokens)-1 && IsAdverb(tokens[i].Lower) {
		i++
	}
	if clauseOpeners.Has(tokens[i].Lower) {
		return true
	}
	if !nounOpeners.Has(tokens[i].Lower) {
		return false
	}
	for _, t := range tokens[i+1 : min(i+6, len(tokens))] {
		v, ok := verbs()[t.Lower]
		if t.IsMark() {
			return false
		}
		if ok && v.Form&(Preterite|ThirdPersonForm) != 0 || slices.Contains([]string{"is", "are", "was", "were", "has", "have", "will", "can", "does"}, t.Lower) {
			return true
		}
	}
	return false
}

// isSecondVerb reports whether rest begins with a second verb for the subject of firstClause, in the same
// tense: "I moved to Leeds and started a bakery".
func isSecondVerb(firstClause, rest []Token) bool {
	i := 0
	for i < len(rest)-1 && IsAdverb(rest[i].Lower) {
		i++
	}
	v, ok := ParseVerb(rest[i].Lower)
	if !ok && rest[i].Lower != "am" && rest[i].Lower != "was" || i == len(rest)-1 {
		return false
	}
	switch first := firstVerbForm(firstClause); {
	case rest[i].Lower == "am" || rest[i].Lower == "was":
		return first != 0
	case first == Base:
		return presentSecondVerbs.Has(rest[i].Lower)
	case first == Preterite:
		return v.Form&Preterite != 0 && v.Form&Base == 0
	case first == ThirdPersonForm:
		return v.Form == ThirdPersonForm || rest[i].Lower == "is"
	}
	return false
}

// firstVerbForm returns the form of the first verb of a clause, or 0.
func firstVerbForm(tokens []Token) VerbForm {
	for i, t := range tokens[:min(len(tokens), 6)] {
		switch w := t.Lower; w {
		case "am", "do", "have":
			return Base
		case "was", "were", "did", "had":
			return Preterite
		case "is", "has", "does":
			return ThirdPersonForm
		default:
			v, ok := verbs()[w]
			switch {
			case !ok || IsAdverb(w):
			case v.Form&Base != 0 && i > 0 && (tokens[i-1].Lower == "i" || tokens[i-1].Lower == "we" || IsAdverb(tokens[i-1].Lower)):
				return Base
			case v.Form&Preterite != 0 && v.Form&Base == 0:
				return Preterite
			case v.Form == ThirdPersonForm && i > 0:
				return ThirdPersonForm
			}
		}
	}
	return 0
}
