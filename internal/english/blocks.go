package english

import (
	"strings"
	"unicode"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// block is a part of a message between empty lines, or a fenced one.
type block struct {
	text.Span
	pasted bool
}

// blocks cuts a message at empty lines and code fences, and tells what the person wrote from what
// they pasted: code, logs, tables, quoted lines, mails, and what is long beside a short block.
func blocks(s string) []block {
	var out []block
	start, end, fenced := -1, 0, false
	flush := func(pasted bool) {
		if start >= 0 {
			b := block{text.Span{Start: start, End: end}, pasted}
			b.pasted = pasted || machine(b.Of(s))
			out = append(out, b)
		}
		start = -1
	}
	at := 0
	for line := range strings.SplitAfterSeq(s, "\n") {
		body := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(body, "```"):
			flush(fenced)
			fenced = !fenced
		case body == "" && !fenced:
			flush(false)
		default:
			if quoted := strings.HasPrefix(body, ">"); quoted != (start >= 0 && strings.HasPrefix(strings.TrimSpace(s[start:]), ">")) && !fenced {
				flush(false)
			}
			if start < 0 {
				start = at
			}
			end = at + len(strings.TrimRight(line, "\r\n"))
		}
		at += len(line)
	}
	flush(fenced)
	markAttached(s, out)
	return out
}

// machine reports whether a block is a quotation or was written by or for a machine: most of its
// lines are like those of code, logs and tables.
func machine(s string) bool {
	lines, odd := 0, 0
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		lines++
		if strings.HasPrefix(line, ">") || symbols(line) {
			odd++
		}
	}
	return 2*odd > lines
}

// symbols reports whether a line has more numbers and signs than a sentence has.
func symbols(line string) bool {
	letters, other := 0, 0
	before := ' '
	for _, r := range line {
		number := unicode.IsDigit(r) && unicode.IsDigit(before)
		before = r
		switch {
		case number:
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case r == ' ' || r == ',' || r == '.' || r == '\'' || r == '’' || r == '?' || r == '!':
		default:
			other++
		}
	}
	return other > 3 && 5*other > letters || strings.HasSuffix(line, "{") || strings.HasSuffix(line, ";") || strings.Contains(line, "(") && call.MatchString(line)
}

// markAttached marks a letter as pasted: from its salutation or headers to the end, or to where it
// closes if the message begins with it. Without an end that is how the person greets.
func markAttached(s string, all []block) {
	for i, b := range all {
		if b.pasted || !salutes(b.Of(s)) {
			continue
		}
		end := len(all)
		if i == 0 {
			for end = len(all) - 1; end > i && !closes(all[end-1].Of(s)); end-- {
			}
			if end <= i+1 {
				return
			}
		}
		for j := i; j < end; j++ {
			all[j].pasted = true
		}
		return
	}
}

// closes reports whether a block ends a letter: a few words that are no sentence.
func closes(s string) bool {
	s = strings.TrimSpace(s)
	return len(strings.Fields(s)) <= salutationWords && !strings.ContainsAny(s, "?!") && !strings.HasSuffix(s, ".")
}

// salutationWords is how many words a salutation has at most.
const salutationWords = 6

// salutes reports whether a block begins a letter: with its headers, or a line that ends in a comma.
func salutes(s string) bool {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if line = strings.TrimSpace(line); headers.MatchString(line) {
		return true
	}
	words := len(strings.Fields(line))
	return strings.HasSuffix(line, ",") && words > 0 && words <= salutationWords && (rest == "" || strings.Count(rest, "\n") > 0 || len(rest) > 80)
}

// call is what a function is called by.
var call = lazy.Compile(`\w\(.*\)`)

var headers = lazy.Compile(`^(?:Subject|From|To|Cc|Date|Sent|Re|Fwd|AW|WG|Betreff|Von|An|Asunto|De|Para|Objet): `)
