package learn

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/extract"
)

// ParseLine reads a model's reply to the prompt that asks for one line: the fact, or
// NOTHING. What is empty, shorter than ten letters or has NOTHING in it, in whatever
// case, is not a fact, nor is a second line. A reply in another form is read as
// [ParseFacts] does, and its first fact counts.
func ParseLine(reply string) ([]extract.Candidate, error) {
	line := answer(reply)
	if utf8.RuneCountInString(line) < extract.MinLength || strings.Contains(strings.ToUpper(line), "NOTHING") {
		return nil, nil
	}
	if !strings.ContainsAny(line[:1], "{[|`") {
		line, _, _ = strings.Cut(line, "\n")
	}
	cands, err := ParseFacts(line)
	return cands[:min(1, len(cands))], err
}
