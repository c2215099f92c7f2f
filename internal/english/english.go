// Package english parses chat messages into sentences (the person's own or pasted), clauses with moods, and
// statements with verbs, tense, negation and person. It finds sentence ends, and questions with a question mark,
// in any language; everything else requires English.
//
// The package does not depend on memory or requests. Package utterance separates the person's own text from
// pasted text.
package english

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/utterance"
)

// Sentence is a sentence of a message, or a part of a very long sentence.
type Sentence struct {
	text.Span
	Clauses  []Clause
	IsPasted bool // the sentence is pasted text, not the person's own words
}

// Clause is a part of a sentence, separated by punctuation or a conjunction.
type Clause struct {
	text.Span
	Mood Mood // the purpose of the clause
}

// ParseSentences returns the sentences of a message in order.
func ParseSentences(s string) []Sentence {
	var out []Sentence
	own := utterance.ParseMessage(s, "").OwnTextAndTasks
	for _, span := range text.Sentences(s) {
		out = append(out, splitLongSentence(s, span, strings.TrimSpace(span.Slice(own)) == "")...)
	}
	return out
}

// maxSentenceWords is the maximum number of words of a sentence. Longer sentences, common in dictated text, are split.
const maxSentenceWords = 28

// splitLongSentence returns a sentence with its clauses, or several sentences if the sentence is long.
func splitLongSentence(s string, sentence text.Span, isPasted bool) (out []Sentence) {
	spans := splitClauses(s, sentence)
	long := len(strings.Fields(sentence.Slice(s))) > maxSentenceWords
	words := maxSentenceWords
	for _, span := range spans {
		c := Clause{Span: span, Mood: moodOf(span.Slice(s))}
		if n := len(out); n > 0 && (!long || words < maxSentenceWords/2) {
			out[n-1].Clauses, out[n-1].End = append(out[n-1].Clauses, c), span.End
		} else {
			out, words = append(out, Sentence{Span: span, Clauses: []Clause{c}, IsPasted: isPasted}), 0
		}
		words += len(strings.Fields(span.Slice(s)))
	}
	return out
}

// minClauseWords is the minimum number of words of a clause; a shorter part joins the previous clause.
const minClauseWords = 3

// splitClauses splits a sentence into clauses at punctuation and at conjunctions.
func splitClauses(s string, sentence text.Span) []text.Span {
	var out []text.Span
	start, words := sentence.Start, 0
	endClause := func(end, next int) {
		if words >= minClauseWords || len(out) == 0 && words > 0 && isGreeting(s[start:end]) {
			out = append(out, trimSpan(s, text.Span{Start: start, End: end}))
			start, words = next, 0
		}
	}
	body := sentence.Slice(s)
	for i := 0; i < len(body); {
		if n := wordLength(body[i:]); n > 0 {
			at := sentence.Start + i
			if words >= minWordsBeforeClause && clauseConjunctions.Has(strings.ToLower(body[i:i+n])) {
				endClause(at, at)
			}
			words++
			i += n
			continue
		}
		_, n := utf8.DecodeRuneInString(body[i:])
		i += n
		if endsClause(body, i-n, n) {
			endClause(sentence.Start+i, sentence.Start+i)
		}
	}
	if last := trimSpan(s, text.Span{Start: start, End: sentence.End}); last.End > last.Start {
		if len(out) > 0 && words < minClauseWords {
			out[len(out)-1].End = last.End
		} else {
			out = append(out, last)
		}
	}
	return out
}
