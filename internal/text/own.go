package text

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

var (
	// passedOn leads up to the words of somebody else.
	passedOn    = lazy.Compile(`(?i)(?:\b(?:sent|wrote|texted|messaged|forwarded|emailed|e-mailed|posted|replied|tweeted|received|got)(?: (?:to|me|us|back|this|that|the following|it|in|a|an|text|message|email|note|reply|letter)){0,5}|\b(?:message|text|email|note|letter|draft|bio|reply|post|caption)\b[^\n:.!?]{0,30}\bfrom (?:a|an|my|our|the|him|her|them)\b[^\n:.!?]{0,30}|\bto quote\b[^\n:.!?]{0,40}|\bin the words of\b[^\n:.!?]{0,40}|\b(?:persona|lyrics|(?:movie|film|song) (?:quote|line))\b[^\n:.!?]{0,20}):`)
	passedWords = []string{"sent", "wrote", "text", "messag", "forward", "email", "e-mail", "post", "repl", "tweet", "received", "got", "note", "letter", "draft", "bio", "caption", "quote", "words", "persona", "lyrics"}

	fenced = lazy.Compile("(?s)```.*?(?:```|$)|`[^`\n]*`")
	cited  = lazy.Compile(`(?m)^[ \t]*>.*$`)
	spoken = lazy.Compile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)
	handed = lazy.Compile(`(?i)(?:^|[.!?\n]\s*|\b(?:please|you|me|help|to) )(?:translate|re-?write|rephrase|proof-?read|paraphrase|summari[sz]e|edit|fix|correct|polish|improve|write|draft|compose|generate|shorten|continue|analy[sz]e|review|grade|classify|explain|convert|answer)\b[^\n:.!?]{0,120}[:\n]`)
	// handedWords are those that the form above needs one of.
	handedWords = []string{"translate", "rewrite", "re-write", "rephrase", "proofread", "proof-read", "paraphrase", "summari", "edit", "fix", "correct", "polish", "improve", "write",
		"draft", "compose", "generate", "shorten", "continue", "analy", "review", "grade", "classify", "explain", "convert", "answer"}
	// pasted begins what was pasted: a mail, a letter, a log.
	pasted = lazy.Compile(`(?m)^[ \t]*(?:(?:Subject|From|To|Cc|Date|Sent|Re|Fwd): .*|(?:Dear|To whom) [^\n,]{1,40}(?:,.*)?|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\n]*)$`)
)

// Own returns a turn with what is in it but not said by its speaker blanked, byte for
// byte: code, citations, longer passages in quotation marks, mails and logs,
// and the text after "translate this:" and its like.
func Own(s string) string {
	in := foreignIn(s)
	if in == (foreign{}) {
		return s
	}
	b := []byte(s)
	blank := func(form *lazy.Pattern, keep func(string) bool) {
		for _, m := range form.FindAllIndex(b, -1) {
			if keep == nil || !keep(string(b[m[0]:m[1]])) {
				blankOut(b[m[0]:m[1]])
			}
		}
	}
	if in.tick {
		blank(fenced, nil)
	}
	if in.angle {
		blank(cited, nil)
	}
	if in.quote {
		blank(spoken, func(q string) bool { return len(strings.Fields(q)) <= 3 })
	}
	if in.colon {
		if Holds(s, "Subject:", "From:", "To:", "Cc:", "Date:", "Sent:", "Re:", "Fwd:", "Dear", "To whom", ":0", ":1", ":2", ":3", ":4", ":5") {
			if m := pasted.FindIndex(b); m != nil {
				blankOut(b[m[0]:])
			}
		}
		if strings.Contains(s, ":") && Holds(s, passedWords...) {
			if m := passedOn.FindIndex(b); m != nil && len(strings.TrimSpace(string(b[m[1]:]))) > 0 {
				end := len(b)
				if p := strings.Index(string(b[m[1]:]), "\n\n"); p > 1 {
					end = m[1] + p
				}
				blankOut(b[m[0]:end])
			}
		}
		if Holds(s, handedWords...) {
			if m := handed.FindIndex(b); m != nil && len(strings.TrimSpace(string(b[m[1]:]))) > 0 {
				blankOut(b[m[0]:])
			}
		}
	}
	return string(b)
}

func blankOut(b []byte) {
	for i := range b {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
}

// foreign says which of the forms above a text may hold, by the bytes that each
// needs.
type foreign struct{ tick, angle, quote, colon bool }

func foreignIn(s string) (f foreign) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '`':
			f.tick = true
		case '>':
			f.angle = true
		case '"', 0xe2, 0xc2: // quotation marks begin with these bytes
			f.quote = true
		case ':', '\n':
			f.colon = true
		}
	}
	f.colon = f.colon || strings.Contains(s, "Dear ")
	return f
}

// Holds reports whether s has one of the words: in small letters, with a capital or
// in capitals. It is much faster than the forms that it spares.
func Holds(s string, words ...string) bool {
	loud := shouts(s)
	for _, w := range words {
		for rest := s; ; {
			i := strings.Index(rest, w[1:])
			if i < 0 {
				break
			}
			if i > 0 && rest[i-1]|0x20 == w[0]|0x20 {
				return true
			}
			rest = rest[i+1:]
		}
		if loud && strings.Contains(s, strings.ToUpper(w)) {
			return true
		}
	}
	return false
}

// shouts reports whether two letters next to each other are capitals.
func shouts(s string) bool {
	for i := 1; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'A' && s[i-1] <= 'Z' {
			return true
		}
	}
	return false
}
