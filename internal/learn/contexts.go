package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// passageBytes is the maximum length in bytes of a sentence, and by default of a passage: about 250 tokens, which
// every embedder reads completely.
const passageBytes = 1000

// Passages splits a document into its sentences and into pieces of consecutive sentences, for comparisons with facts.
// maxUnits is the maximum length of a piece as returned by measure; 0 means 1000 bytes, and measure is not called.
// Equal documents have equal passages.
func Passages(document string, maxUnits int, measure func(string) int) []string {
	if maxUnits == 0 {
		maxUnits, measure = passageBytes, func(s string) int { return len(s) + 1 }
	}
	var out []string
	piece, sentences, remaining := "", 0, maxUnits
	endPiece := func() {
		if sentences > 1 { // a piece of one sentence is already in the result
			out = append(out, piece)
		}
		piece, sentences, remaining = "", 0, maxUnits
	}
	for line := range strings.Lines(document) {
		for _, s := range text.Sentences(line) {
			sentence := strings.TrimSpace(line[s.Start:s.End])
			if sentence == "" {
				continue
			}
			sentence = strings.ToValidUTF8(sentence[:min(len(sentence), passageBytes)], "")
			size := measure(sentence)
			if size > remaining {
				endPiece()
			}
			remaining -= size
			out = append(out, sentence)
			piece, sentences = strings.TrimSpace(piece+" "+sentence), sentences+1
		}
	}
	endPiece()
	return out
}

// ContextContaining returns the name of a context that contains the candidate's words or quote, or whose whole
// content is in the candidate's words. It returns "" for none, and for an explicit request to remember.
func ContextContaining(c extract.Candidate, quote string, contexts []memory.Context) string {
	if c.RememberRequested {
		return ""
	}
	statement, quoted := padWithSpaces(c.Text), padWithSpaces(quote)
	if strings.Count(quoted, " ") <= minQuotedWords {
		quoted = ""
	}
	for _, document := range contexts {
		content := padWithSpaces(document.Content)
		if statement != "" && strings.Contains(content, statement) || quoted != "" && strings.Contains(content, quoted) || content != "" && strings.Contains(statement, content) {
			return contextName(document)
		}
	}
	return ""
}

// minQuotedWords is the minimum number of words of a quote that is compared; shorter quotes match by chance.
const minQuotedWords = 6

// padWithSpaces surrounds a text with spaces, so that a substring search matches whole words only.
func padWithSpaces(s string) string {
	if s = text.Normalize(s); s == "" {
		return ""
	}
	return " " + strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" .,;:!?\"'()[]*#>|`", r) }), " ") + " "
}

func contextName(c memory.Context) string {
	if c.Title != "" {
		return c.Title
	}
	return c.ID
}

// SimilarContext returns the name of the document if its passage means the same as a candidate, otherwise "".
// minSimilarity is the minimum similarity (cosine) of passage and candidate; 0 means 0.90.
func SimilarContext(c extract.Candidate, document memory.Context, passage string, similarity, minSimilarity float64) string {
	if minSimilarity == 0 {
		minSimilarity = 0.90
	}
	if c.RememberRequested || similarity < minSimilarity || !passageSupports(passage, c.Text) {
		return ""
	}
	return contextName(document)
}

// passageSupports reports whether a passage has the numbers, names and polarity of a statement.
func passageSupports(passage, statement string) bool {
	figures, names := sortedNumbers(passage), foldedNames(passage)
	for _, n := range sortedNumbers(statement) {
		if !slices.Contains(figures, n) {
			return false
		}
	}
	for name := range foldedNames(statement) {
		if !names[name] {
			return false
		}
	}
	return sameSense(passage, statement)
}

// ContextReason returns the reason for dropping a candidate that a context contains.
func ContextReason(name string) string { return "the context " + name + " says so" }
