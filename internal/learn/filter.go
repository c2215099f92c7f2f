package learn

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// notOwnWords is the reason for dropping a candidate based on another person's text or an injected memory.
const notOwnWords = "not the user's own words"

// Dropped is a candidate that is not stored, with the reason.
type Dropped struct {
	Candidate extract.Candidate
	Reason    string
}

// Filter returns the candidates worth remembering, completed with their turn, quote and time. It drops
// questions, small talk, fragments and blanked text. An instruction, or a fact that its turn does not
// support, gets a ReviewReason.
func Filter(cands []extract.Candidate, utterances []extract.Utterance) (kept []extract.Candidate, dropped []Dropped) {
	r := sources{utterances: utterances}
	for _, c := range cands {
		c.Text = tidy(c.Text)
		if reason := worthlessReason(c); reason != "" {
			dropped = append(dropped, Dropped{c, reason})
			continue
		}
		about := c.Subject
		c.Subject, c.Attribute, c.Category = shortName(c.Subject), shortName(c.Attribute), shortName(c.Category)
		c = extract.Classified(c)
		byRule := strings.HasPrefix(c.Model, "rule:")
		i, g := r.source(&c, about)
		if i < 0 {
			dropped = append(dropped, Dropped{c, "no turn supports it"})
			continue
		}
		if g.Grade != Grounded && r.isBasedOnBlanked(&c) {
			dropped = append(dropped, Dropped{c, notOwnWords})
			continue
		}
		if g.Reason == statedEarlier {
			dropped = append(dropped, Dropped{c, statedEarlier})
			continue
		}
		if !c.RememberRequested && extract.OffTheRecord(utterances[i].Turn.Content) {
			dropped = append(dropped, Dropped{c, "the user asked not to remember it"})
			continue
		}
		c = withTurn(c, utterances[i], byRule)
		c.Unsure = utterances[i].Unsure
		switch {
		case extract.Instructs(c.Text):
			c.ReviewReason = "it reads like an instruction"
		case c.ReviewReason == "" && g.Grade == Refuted:
			c.ReviewReason, c.Doubt = g.Reason, g.Reason
		case g.Grade == Unproven:
			c.Confidence, c.Doubt = min(c.Confidence, UnprovenConfidence), g.Reason
		}
		kept = append(kept, c)
	}
	return kept, dropped
}

// tidy returns a fact as one line without a bullet, enclosing quotation marks or a final full stop.
func tidy(s string) string {
	s, _ = trimBullet(visibleText(s))
	for len(s) > 1 && strings.IndexByte("\"'`", s[0]) >= 0 && s[len(s)-1] == s[0] {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	if len(text.Sentences(s)) == 1 && !strings.HasSuffix(s, "..") {
		s = strings.TrimRight(s, ".")
	}
	return s
}

// visibleText returns s as one line without invisible characters, so that facts with equal appearance have equal bytes.
func visibleText(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// maxName is the maximum length in bytes of a subject, attribute or category.
const maxName = 120

func shortName(s string) string {
	if s = visibleText(s); len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName], "")
}

// passingTalk matches facts that matter only during the conversation: "User is hungry".
var passingTalk = lazy.Compile(`(?i)^(?:the )?user (?:` +
	`(?:is |was |has )?(?:just )?(?:ask(?:s|ed|ing)|request(?:s|ed|ing)?|inquir|greet(?:s|ed|ing)?|thank(?:s|ed|ing)?|repl(?:y|ies|ied)|respond(?:s|ed)?|said (?:hello|hi|yes|no|thanks)|says (?:hello|hi|yes|no|thanks))\b` +
	`|(?:is|was) (?:just )?(?:testing|typing|waiting|chatting|writing a (?:message|prompt)|interacting|speaking with|talking to (?:the|an) (?:assistant|ai|bot))\b` +
	`|(?:wants|needs|would like) (?:the )?(?:assistant|me|you|ai|help with this)\b` +
	`|is (?:feeling )?(?:tired|hungry|thirsty|bored|busy|sleepy|here|back|ready|sure|fine|okay|ok|good|sorry|happy|glad|grateful)(?: (?:now|today|right now|to (?:help|hear|chat).*))?$` +
	`|(?:is|feels) .*\b(?:right now|at the moment)$` +
	`)`)

func worthlessReason(c extract.Candidate) string {
	switch s := c.Text; {
	case s == "":
		return "empty"
	case isNothing(s):
		return "nothing to remember"
	case len(s) > maxFact:
		return "too long"
	case utf8.RuneCountInString(s) < extract.MinLength:
		return "too short"
	case text.Asks(s):
		return "a question"
	case strings.Contains(s, "****"): // Guard overwrote a secret with these asterisks
		return "a secret"
	case saysNothing(s), transcribed.MatchString(strings.ToLower(s)):
		return "nothing to remember"
	case c.RememberRequested:
		return ""
	case passingTalk.MatchString(s):
		return "a transient state"
	}
	return ""
}

// transcribed matches a line of a transcript.
var transcribed = lazy.Compile(`^(?:user|assistant|context)(?: said)?: `)

// saysNothing reports whether a text is a single word or has only words of speaking, knowing and asking.
func saysNothing(s string) bool {
	for t := range extract.TermSet(s) {
		if !tellingTerms.Has(t) && !wanting.Has(t) {
			return len(strings.Fields(s)) < 2
		}
	}
	return true
}

var wanting = lazy.SetOf("what who where when why how which would could do does did", extract.TermsOf)

// ReadsLikeInstruction reports whether a fact's words read like an instruction to a model.
func ReadsLikeInstruction(words string) bool { return extract.Instructs(tidy(words)) }

// sources holds the turns from which candidates may come.
type sources struct{ utterances []extract.Utterance }

// source returns the index of a candidate's turn, or -1, and how well that turn supports the candidate. If
// several turns match, it returns the turn with the best evidence.
func (r *sources) source(c *extract.Candidate, about string) (turn int, g Grounding) {
	named := turnIndex(c.Turn, r.utterances)
	if c.Span != nil && named >= 0 {
		return named, Grounding{} // the rule found the candidate in this turn
	}
	turn = -1
	for _, i := range searchOrder(named, len(r.utterances)) {
		found := Ground(Claim{c.Text, c.Quote, about, c.Op}, r.utterances[i])
		if turn < 0 || found.Grade < g.Grade || found.Grade == g.Grade && g.Span.End == 0 && found.Span.End > 0 {
			turn, g = i, found
		}
		if g.Grade == Grounded {
			break
		}
	}
	if turn >= 0 && g.Span.End > 0 {
		c.Span = &memory.Span{Turn: r.utterances[turn].Turn.ID, Start: g.Span.Start, End: g.Span.End}
	}
	return turn, g
}

// isBasedOnBlanked reports whether blanked text is the only evidence for a candidate: it has the quote, or
// most terms of the candidate, or the candidate names a turn that the model did not see.
func (r *sources) isBasedOnBlanked(c *extract.Candidate) bool {
	for _, s := range r.utterances {
		if _, own := locate(s.Text, c.Quote); own {
			return false
		}
	}
	own, kept := map[string]bool{}, map[string]bool{}
	for _, s := range r.utterances {
		content := s.Turn.Content
		if len(content) != len(s.Text) || content == s.Text {
			continue
		}
		if span, ok := locate(content, c.Quote); ok && mostlyBlanked(content[span.Start:span.End], s.Text[span.Start:span.End]) {
			return true
		}
		for t := range extract.TermSet(blankedText(content, s.Text)) {
			kept[t] = true
		}
	}
	if c.Quote != "" && c.Turn != "" && turnIndex(c.Turn, r.utterances) < 0 {
		return true
	}
	if len(kept) == 0 {
		return false
	}
	for _, s := range r.utterances {
		for t := range extract.TermSet(s.Text) {
			own[t] = true
		}
	}
	all, there, here := 0, 0, 0
	for t := range extract.TermSet(c.Text) {
		if t == "user" {
			continue
		}
		all++
		if kept[t] {
			there++
		}
		if own[t] {
			here++
		}
	}
	return there*5 >= all*4 && here*2 <= all && there > here
}

// mostlyBlanked reports whether most of a message is blanked with spaces. Secrets, blanked with asterisks, do
// not count.
func mostlyBlanked(content, shown string) bool {
	letters, gone := 0, 0
	for i := range len(content) {
		if content[i] == ' ' {
			continue
		}
		letters++
		if shown[i] == ' ' {
			gone++
		}
	}
	return gone*2 > letters
}

// blankedText returns the blanked part of a turn's content.
func blankedText(content, shown string) string {
	b := []byte(content)
	for i := range b {
		if shown[i] != ' ' {
			b[i] = ' '
		}
	}
	return string(b)
}

// turnIndex returns the index of the turn with this id or short id, or -1.
func turnIndex(name string, utterances []extract.Utterance) int {
	short := strings.ToLower(strings.Trim(name, "[] "))
	for i, s := range utterances {
		if name != "" && name == s.Turn.ID || short == turnName(i) || short == strconv.Itoa(i+1) {
			return i
		}
	}
	return -1
}

// searchOrder returns the order in which turns are searched: the named turn, then newer before older turns.
func searchOrder(named, n int) []int {
	var order []int
	if named >= 0 {
		order = append(order, named)
	}
	for i := n - 1; i >= 0; i-- {
		if i != named {
			order = append(order, i)
		}
	}
	return order
}

// yearlyDate matches a fact about a date that has a day but no year.
var yearlyDate = lazy.Compile(`(?i)\b(?:birthday|anniversary|name day) is\b`)

// withTurn returns the candidate with the scope, time and speaker of its turn. It makes dates in a rule's
// candidate absolute; models write absolute dates themselves.
func withTurn(c extract.Candidate, s extract.Utterance, byRule bool) extract.Candidate {
	t := s.Turn
	c.Turn, c.Conversation, c.ObservedAt = t.ID, t.Conversation, memory.Time(t.CreatedAt)
	offset := 0
	if c.Span != nil {
		offset = c.Span.Start
	}
	c.ObservedSeq = extract.Sequence(t.Index, offset)
	switch t.Role {
	case memory.RoleUser:
		c.Trust = memory.TrustUser
	case memory.RoleAssistant:
		c.Trust = memory.TrustAssistant
	default:
		c.Trust = memory.TrustUntrusted
	}
	if byRule && (!yearlyDate.MatchString(c.Text) || len(text.Numbers(c.Text)) == 0) {
		c.Text = text.Absolute(c.Text, t.CreatedAt)
	}
	return c
}
