package learn

import (
	"regexp"
	"strings"

	"github.com/loci-memory/loci/internal/text"
)

// clause is one statement of a turn: a sentence, or a part of one with a subject
// of its own.
type clause struct {
	text string // without what leads up to it ("Well, actually, …")
	text.Span
	greeted bool // a greeting leads up to it
}

// clauses returns the statements of a turn that a person makes about the world.
// Questions, hypothetical cases, what others said, and text that is handed over to
// be worked on are left out.
func clauses(s string) []clause {
	s = maskForeign(s)
	if joking.MatchString(s) || pretending.MatchString(s) {
		return nil
	}
	var out []clause
	for _, sentence := range text.Sentences(s) {
		body := sentence.Of(s)
		if text.Asks(body) {
			body = body[:statedBefore(body)]
		}
		plain := polite.ReplaceAllStringFunc(body, func(m string) string { return strings.Repeat(" ", len(m)) })
		if strings.TrimSpace(plain) == "" || unreal.MatchString(plain) || reported.MatchString(plain) {
			continue
		}
		for _, part := range split(plain) {
			part.Start += sentence.Start
			part.End += sentence.Start
			out = append(out, part)
		}
	}
	return out
}

var (
	joking     = regexp.MustCompile(`(?i)\b(?:just kidding|only kidding|i'?m kidding|jk|kidding aside|as a joke|joking)\b`)
	pretending = regexp.MustCompile(`(?i)\b(?:role-?play|pretend (?:that|to|you|i|we)|imagine (?:that|you|i|we|a)|let['’]s (?:say|imagine|pretend|suppose)|act as (?:if|though|an?|my)|in (?:the|my|this|a) (?:story|novel|game|dream|movie|film|book|play)|my character|hypothetical)`)
	unreal     = regexp.MustCompile(`(?i)\b(?:if|unless|would(?:n['’]t)?|could(?:n['’]t)?|might|maybe|perhaps|wish|suppose|supposing|imagine|whether|what if|as if|almost|nearly)\b`)
	reported   = regexp.MustCompile(`(?i)\b(?:says?|said|told me|tells me|asked me|wrote|quot(?:e|es|ed|ing)|according to|claims?|claimed|they say|apparently|rumou?r)\b`)
	polite     = regexp.MustCompile(`(?i)\b(?:if (?:it|that) (?:helps|matters|makes sense|is relevant)|if you(?:['’]re| are) (?:wondering|curious|interested|asking)|if you (?:must|need to|want to) know|in case (?:it|that) (?:helps|matters)|i(?:['’]d| would) say(?: that)?|i would (?:love|like) to (?:learn|become|visit|travel|move|see))\b,?`)

	fenced = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]*`")
	cited  = regexp.MustCompile(`(?m)^[ \t]*>.*$`)
	spoken = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|«[^»\n]*»`)
	handed = regexp.MustCompile(`(?i)(?:^|[.!?\n]\s*|\b(?:please|you|me|help|to) )(?:translate|re-?write|rephrase|proof-?read|paraphrase|summari[sz]e|edit|fix|correct|polish|improve|write|draft|compose|generate|shorten|continue|analy[sz]e|review|grade|classify|explain)\b[^\n:.!?]{0,120}[:\n]`)
)

// maskForeign blanks, byte for byte, what is in the turn but not said by its
// speaker: code, citations, longer passages in quotation marks, and the text after
// "translate this:" and its like.
func maskForeign(s string) string {
	b := []byte(s)
	blank := func(form *regexp.Regexp, keep func(string) bool) {
		for _, m := range form.FindAllIndex(b, -1) {
			if keep == nil || !keep(string(b[m[0]:m[1]])) {
				fill(b[m[0]:m[1]], ' ')
			}
		}
	}
	blank(fenced, nil)
	blank(cited, nil)
	blank(spoken, func(q string) bool { return len(strings.Fields(q)) <= 3 })
	if m := handed.FindIndex(b); m != nil && len(strings.TrimSpace(string(b[m[1]:]))) > 0 {
		fill(b[m[0]:], ' ')
	}
	return string(b)
}

// statedBefore returns how much of a question is a statement before it: "I live in
// Lisbon, what should I see?" has one up to the comma.
func statedBefore(s string) int {
	m := asks.FindStringIndex(s)
	if m == nil {
		return 0
	}
	return m[0]
}

var asks = regexp.MustCompile(`(?i)(?:[,;:—–]| -|\band|\bso|\bbut) +(?:so |and |but |then )*(?:what|where|when|who|how|why|which|can|could|do|does|did|is|are|should|would|will|any|have|has|tell|am)\b`)

// cuts is where a statement with a subject of its own begins.
var cuts = regexp.MustCompile(`(?i)(?:[,;:—–]+\s+(?:and |but |so |because |then |though |although |while |whereas |plus |where |which |also )*|\s+-+\s+|\s+(?:and|but|so|because|though|although|while|whereas|plus|since|as)\s+)(?:i|i['’]m|im|i['’]ve|i['’]ll|i['’]d|my|we|we['’]re|we['’]ve|our|he|she|it|they|he['’]s|she['’]s|it['’]s|they['’]re|his|her|their|you|the|there|that|this|please)\s`)

// verbCut is where a second verb of the same subject begins.
var verbCut = regexp.MustCompile(`(?i)(?:,\s+|\s+)(?:and|but)\s+((?:(?:` + adverbs + `)\s+)?(?:live|work|study|love|like|hate|enjoy|prefer|have|own|drive|play|speak|moved|am|don['’]t|do not|can['’]t|was born|grew up|teach|run|dislike)\s)`)

func split(sentence string) []clause {
	var out []clause
	start := 0
	greeted := false
	for start < len(sentence) {
		end, next := len(sentence), len(sentence)
		if m := cuts.FindStringIndex(sentence[start:]); m != nil {
			whole := sentence[start+m[0] : start+m[1]]
			subject := strings.LastIndexByte(strings.TrimRight(whole, " \t\n"), ' ') + 1
			end, next = start+m[0], start+m[0]+subject
		}
		for _, c := range splitVerbs(sentence, start, end) {
			c.greeted = c.greeted || greeted
			greeted = c.greeted && c.text == "" || greeting.MatchString(c.text) && len(strings.Fields(c.text)) < 3
			out = append(out, c)
		}
		if next <= start {
			break
		}
		start = next
	}
	return out
}

// splitVerbs cuts "I live in Lisbon and work as a nurse" in two and gives the
// second the first's subject.
func splitVerbs(sentence string, start, end int) []clause {
	var out []clause
	lead := ""
	for {
		c := opened(lead, sentence[start:end], start)
		m := verbCut.FindStringSubmatchIndex(sentence[start:end])
		if m == nil || !subjectOf.MatchString(c.text) || start+m[0] <= c.Start {
			return append(out, c)
		}
		out = append(out, opened(lead, sentence[start:start+m[0]], start))
		start += m[2]
		lead = "I "
	}
}

var subjectOf = regexp.MustCompile(`(?i)^(?:i|i['’]m|im|i['’]ve|we|we['’]re|we['’]ve)\s`)

// opener is what people say before they say something.
var opener = regexp.MustCompile(`(?i)^(?:(?:hi|hello|hey|good (?:morning|evening|afternoon))(?: (?:there|again|everyone|all|loci|assistant))?|well|so|yes|yeah|yep|yup|no|nope|oh|ah|ok|okay|sure|right|actually|btw|by the way|also|and|but|then|anyway|honestly|fyi|just so you know|you know|for the record|to be honest|tbh|in fact|as you know|as i (?:said|mentioned)|for context|for reference|some context|about me|a bit about me|unfortunately|sadly|luckily|fortunately|thankfully|lately|recently|these days|nowadays|currently|right now|at the moment|now|today|please|thanks(?: so much| a lot)?|thank you(?: so much)?|great|cool|nice|wow|haha|hmm|um|uh|correction|update|sorry|oops|wait|quick update|good news|great news|big news|first(?: of all)?|second(?:ly)?|finally|because|since|though|although|while|that|personally|of course|definitely|exactly|true|absolutely|just to (?:add|clarify|let you know)|for what it['’]s worth|note(?: that)?|besides|plus|in general|generally|overall|mostly|i guess|i mean|you see|guess what)(?:\s*[,:;.!…—–-]+\s*|\s+|$)`)

var greeting = regexp.MustCompile(`(?i)^(?:hi|hello|hey|good (?:morning|evening|afternoon))\b`)

// opened returns the clause that begins at start, without its openers. lead is a
// subject to put before it.
func opened(lead, s string, start int) clause {
	c := clause{Span: text.Span{Start: start, End: start + len(s)}}
	for {
		trimmed := strings.TrimLeft(s, " \t\r\n-–—*•,;:.!…")
		c.Start += len(s) - len(trimmed)
		s = trimmed
		m := opener.FindString(s)
		if m == "" || lead != "" {
			break
		}
		c.greeted = c.greeted || greeting.MatchString(m)
		s = s[len(m):]
		c.Start += len(m)
	}
	trimmed := strings.TrimRight(s, " \t\r\n.,;:!…)")
	c.End -= len(s) - len(trimmed)
	c.text = lead + trimmed
	return c
}
