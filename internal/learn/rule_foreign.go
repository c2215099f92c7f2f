package learn

import (
	"regexp"
	"strings"

	"github.com/loci-memory/loci/memory"
)

var (
	joking     = regexp.MustCompile(`(?i)\b(?:just kidding|only kidding|i'?m kidding|jk|kidding aside|as a joke|joking)\b`)
	pretending = regexp.MustCompile(`(?i)\b(?:role-?play|pretend (?:that|to|you|i|we)|imagine (?:that|you|i|we|a)|let['’]s (?:say|imagine|pretend|suppose)|act as (?:if|though|an?|my)|my character|hypothetical|for the sake of argument|^say (?:i['’]?m|i am|i have|that i|we) )`)
	// mocking says that a turn means the opposite of its words.
	mocking = regexp.MustCompile(`(?i)(?:^|\s)/s\s*$|[.!?]\s+not!\s*$`)

	// playing begins a play that goes on in the turns after it, playEnding is its end.
	// Who only tells the model whom to play speaks for themselves.
	playing    = regexp.MustCompile(`(?i)^role[- ]?play|\b(?:let['’]?s|can we|could we|shall we|want to|wanna|like to|start|begin|do|for) (?:[\w'’]+ ){0,3}role[- ]?play(?:ing)?\b|\bpretend (?:that )?(?:i|we|you(?:['’]re| are) (?:my|our))\b|\blet['’]?s play (?:a game|that|pretend|make-believe)|^(?:ok,? )?you (?:be|play) the\b|\bact (?:like|as if|as though) (?:i|we)\b`)
	playEnding = regexp.MustCompile(`(?i)\b(?:end|stop|quit|exit|finish|done with|enough of|out of|no more)(?: of)?(?: the| this| our)? (?:role[- ]?play(?:ing)?|character|game|playing|pretending)\b|\bback to (?:reality|normal|real life)\b|\b(?:in real life|for real now|seriously now|jokes aside|\(?ooc\b)`)
	// acting is how somebody in a play begins: with what they do.
	acting = regexp.MustCompile(`^\s*\*[a-z]+s\b[^*\n]{0,80}\*`)
	// passedOn leads up to the words of somebody else.
	passedOn    = regexp.MustCompile(`(?i)(?:\b(?:sent|wrote|texted|messaged|forwarded|emailed|e-mailed|posted|replied|tweeted|received|got)(?: (?:to|me|us|back|this|that|the following|it|in|a|an|text|message|email|note|reply|letter)){0,5}|\b(?:message|text|email|note|letter|draft|bio|reply|post|caption)\b[^\n:.!?]{0,30}\bfrom (?:a|an|my|our|the|him|her|them)\b[^\n:.!?]{0,30}|\bto quote\b[^\n:.!?]{0,40}|\bin the words of\b[^\n:.!?]{0,40}|\b(?:persona|lyrics|(?:movie|film|song) (?:quote|line))\b[^\n:.!?]{0,20}):`)
	passedWords = []string{"sent", "wrote", "text", "messag", "forward", "email", "e-mail", "post", "repl", "tweet", "received", "got", "note", "letter", "draft", "bio", "caption", "quote", "words", "persona", "lyrics"}

	fenced = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]*`")
	cited  = regexp.MustCompile(`(?m)^[ \t]*>.*$`)
	spoken = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)
	handed = regexp.MustCompile(`(?i)(?:^|[.!?\n]\s*|\b(?:please|you|me|help|to) )(?:translate|re-?write|rephrase|proof-?read|paraphrase|summari[sz]e|edit|fix|correct|polish|improve|write|draft|compose|generate|shorten|continue|analy[sz]e|review|grade|classify|explain|convert|answer)\b[^\n:.!?]{0,120}[:\n]`)
	// handedWords are those that the form above needs one of.
	handedWords = []string{"translate", "rewrite", "re-write", "rephrase", "proofread", "proof-read", "paraphrase", "summari", "edit", "fix", "correct", "polish", "improve", "write",
		"draft", "compose", "generate", "shorten", "continue", "analy", "review", "grade", "classify", "explain", "convert", "answer"}
	// letter begins what was pasted: a mail, a letter, a log.
	letter = regexp.MustCompile(`(?m)^[ \t]*(?:(?:Subject|From|To|Cc|Date|Sent|Re|Fwd): .*|(?:Dear|To whom) [^\n,]{1,40}(?:,.*)?|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\n]*)$`)
)

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

// notMeant reports whether a turn as a whole is a joke or a play.
func notMeant(s string) bool {
	return holds(s, "kidding", "joke", "joking", "jk") && joking.MatchString(s) ||
		holds(s, "play", "pretend", "imagine", "let's", "let’s", "act as", "character", "hypothetical", "sake of", "say ") && pretending.MatchString(s) ||
		strings.Contains(s, "*") && acting.MatchString(s) || (strings.Contains(s, "/s") || holds(s, "not!")) && mocking.MatchString(s)
}

// shortWish is how long a message may be to be looked at whole, with what Guard blanked
// in it: longer ones carry what others wrote.
const shortWish = 300

// plays reports whether a turn belongs to a play, and whether those after it do. before
// says whether the turn before it left a play going.
func plays(s *Said, before bool) (this, after bool) {
	text := s.Text
	if len(s.Turn.Content) < shortWish { // "you are my boss" may be blanked
		text = s.Turn.Content
	}
	switch {
	case before:
		return true, !playEnding.MatchString(text)
	case holds(text, "roleplay", "role-play", "role play", "pretend", "let's play", "let’s play", "lets play", "you be", "you play", "act like", "act as") && playing.MatchString(text):
		return true, true
	case strings.Contains(s.Before, "*") && acting.MatchString(s.Before):
		return true, true
	}
	return false, false
}

// Playing reports whether a conversation's turns, in their order, leave a role play
// going: what the user says next is then said in it.
func Playing(turns []memory.Turn) bool {
	going := false
	for i := range turns {
		if t := &turns[i]; t.Role == memory.RoleUser {
			_, going = plays(&Said{Turn: *t, Text: t.Content}, going)
		}
	}
	return going
}

// holds reports whether s has one of the words: in small letters, with a capital or
// in capitals. It is much faster than the forms that it spares.
func holds(s string, words ...string) bool {
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

// maskForeign blanks, byte for byte, what is in the turn but not said by its
// speaker: code, citations, longer passages in quotation marks, mails and logs,
// and the text after "translate this:" and its like.
func maskForeign(s string) string {
	in := foreignIn(s)
	if in == (foreign{}) {
		return s
	}
	b := []byte(s)
	blank := func(form *regexp.Regexp, keep func(string) bool) {
		for _, m := range form.FindAllIndex(b, -1) {
			if keep == nil || !keep(string(b[m[0]:m[1]])) {
				fill(b[m[0]:m[1]], ' ')
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
		if holds(s, "Subject:", "From:", "To:", "Cc:", "Date:", "Sent:", "Re:", "Fwd:", "Dear", "To whom", ":0", ":1", ":2", ":3", ":4", ":5") {
			if m := letter.FindIndex(b); m != nil {
				fill(b[m[0]:], ' ')
			}
		}
		if strings.Contains(s, ":") && holds(s, passedWords...) {
			if m := passedOn.FindIndex(b); m != nil && len(strings.TrimSpace(string(b[m[1]:]))) > 0 {
				end := len(b)
				if p := strings.Index(string(b[m[1]:]), "\n\n"); p > 1 {
					end = m[1] + p
				}
				fill(b[m[0]:end], ' ')
			}
		}
		if holds(s, handedWords...) {
			if m := handed.FindIndex(b); m != nil && len(strings.TrimSpace(string(b[m[1]:]))) > 0 {
				fill(b[m[0]:], ' ')
			}
		}
	}
	return string(b)
}
