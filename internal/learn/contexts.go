package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// passageBytes is how long a passage of a context is at most: some 250 tokens, which
// every embedder reads whole.
const passageBytes = 1000

// Passages parts a document for comparing: its sentences, since a fact is one, and
// pieces of it that follow each other, each as long as an embedder reads: most of what count
// counts, or 1000 bytes where most is 0. None is empty; equal documents have equal passages.
func Passages(document string, most int, count func(string) int) []string {
	if most == 0 {
		most, count = passageBytes, func(s string) int { return len(s) + 1 }
	}
	var out []string
	piece, sentences, room := "", 0, most
	end := func() {
		if sentences > 1 { // or else it is there already
			out = append(out, piece)
		}
		piece, sentences, room = "", 0, most
	}
	for line := range strings.Lines(document) {
		for _, s := range text.Sentences(line) {
			sentence := strings.TrimSpace(line[s.Start:s.End])
			if sentence == "" {
				continue
			}
			sentence = strings.ToValidUTF8(sentence[:min(len(sentence), passageBytes)], "")
			size := count(sentence)
			if size > room {
				end()
			}
			room -= size
			out = append(out, sentence)
			piece, sentences = strings.TrimSpace(piece+" "+sentence), sentences+1
		}
	}
	end()
	return out
}

// InContext returns the name of the context that says what a candidate says: one that
// holds its words or those that it was learned from, or whose words it holds. quote is
// the latter, "" for none. "" is not a context. What the user asks to remember is theirs
// to ask.
func InContext(c extract.Candidate, quote string, contexts []memory.Context) string {
	if c.Remember {
		return ""
	}
	said, quoted := asWords(c.Text), asWords(quote)
	if strings.Count(quoted, " ") <= quotedWords {
		quoted = ""
	}
	for _, known := range contexts {
		held := asWords(known.Content)
		if said != "" && strings.Contains(held, said) || quoted != "" && strings.Contains(held, quoted) || held != "" && strings.Contains(said, held) {
			return contextName(known)
		}
	}
	return ""
}

// quotedWords is how many words are in a quote that cannot be the same by chance.
const quotedWords = 6

// asWords is a text between spaces, so that it holds another where whole words do.
func asWords(s string) string {
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

// NearContext returns the name of the context a passage of which is so similar to a
// candidate that it says the same, "" for none. similarity is that of the passage; near
// is the least that counts, 0 for 0.90. A passage that lacks one of the candidate's
// numbers or names, or denies what that asserts, says something else.
func NearContext(c extract.Candidate, known memory.Context, passage string, similarity, near float64) string {
	if near == 0 {
		near = 0.90
	}
	if c.Remember || similarity < near || !sayable(passage, c.Text) {
		return ""
	}
	return contextName(known)
}

// sayable reports whether a passage has the numbers and the names of a statement, and
// denies it no more than it does itself.
func sayable(passage, statement string) bool {
	figures, names := numbers(passage), nameSet(passage)
	for _, n := range numbers(statement) {
		if !slices.Contains(figures, n) {
			return false
		}
	}
	for name := range nameSet(statement) {
		if !names[name] {
			return false
		}
	}
	return sameSense(passage, statement)
}

// SaidInContext is why a candidate is dropped.
func SaidInContext(name string) string { return "the context " + name + " says so" }
