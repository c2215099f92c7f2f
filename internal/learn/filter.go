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

// reasonNotOwnWords is the reason for dropping a candidate based on another person's text or an injected memory.
const reasonNotOwnWords = "not the user's own words"

// DroppedCandidate is a candidate that is not stored, with the reason.
type DroppedCandidate struct {
	Candidate extract.Candidate
	Reason    string
}

// Filter returns the candidates worth remembering, completed with their turn, quote and time. It drops
// questions, small talk, fragments and candidates from blanked text. An instruction, or a fact that its turn does not
// support, gets a ReviewReason.
func Filter(cands []extract.Candidate, utterances []extract.Utterance) (kept []extract.Candidate, dropped []DroppedCandidate) {
	turns := turnSources{utterances: utterances}
	for _, c := range cands {
		c.Text = tidyFact(c.Text)
		if reason := dropReason(c); reason != "" {
			dropped = append(dropped, DroppedCandidate{c, reason})
			continue
		}
		givenSubject := c.Subject
		c.Subject, c.Attribute, c.Category = clipName(c.Subject), clipName(c.Attribute), clipName(c.Category)
		c = extract.WithClassification(c)
		byRule := strings.HasPrefix(c.Model, "rule:")
		i, g := turns.bestSource(&c, givenSubject)
		if i < 0 {
			dropped = append(dropped, DroppedCandidate{c, "no turn supports it"})
			continue
		}
		if g.Grade != Grounded && turns.isBasedOnBlanked(&c) {
			dropped = append(dropped, DroppedCandidate{c, reasonNotOwnWords})
			continue
		}
		if g.Reason == reasonStatedEarlier {
			dropped = append(dropped, DroppedCandidate{c, reasonStatedEarlier})
			continue
		}
		if !c.RememberRequested && extract.IsOffTheRecord(utterances[i].Turn.Content) {
			dropped = append(dropped, DroppedCandidate{c, "the user asked not to remember it"})
			continue
		}
		c = withTurn(c, utterances[i], byRule)
		c.MayBeQuoted = utterances[i].MayBeQuoted
		switch {
		case extract.IsInstruction(c.Text):
			c.ReviewReason = "it reads like an instruction"
		case c.ReviewReason == "" && g.Grade == Refuted:
			c.ReviewReason, c.DoubtReason = g.Reason, g.Reason
		case g.Grade == Unproven:
			c.Confidence, c.DoubtReason = min(c.Confidence, UnprovenConfidence), g.Reason
		}
		kept = append(kept, c)
	}
	return kept, dropped
}

// tidyFact returns a fact as one line without a bullet, enclosing quotation marks or a final full stop.
func tidyFact(s string) string {
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

// maxNameBytes is the maximum length in bytes of a subject, attribute or category.
const maxNameBytes = 120

func clipName(s string) string {
	if s = visibleText(s); len(s) <= maxNameBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxNameBytes], "")
}

// smallTalk matches facts that matter only during the conversation: "User is hungry".
var smallTalk = lazy.Compile(`(?i)^(?:the )?user (?:` +
	`(?:is |was |has )?(?:just )?(?:ask(?:s|ed|ing)|request(?:s|ed|ing)?|inquir|greet(?:s|ed|ing)?|thank(?:s|ed|ing)?|repl(?:y|ies|ied)|respond(?:s|ed)?|said (?:hello|hi|yes|no|thanks)|says (?:hello|hi|yes|no|thanks))\b` +
	`|(?:is|was) (?:just )?(?:testing|typing|waiting|chatting|writing a (?:message|prompt)|interacting|speaking with|talking to (?:the|an) (?:assistant|ai|bot))\b` +
	`|(?:wants|needs|would like) (?:the )?(?:assistant|me|you|ai|help with this)\b` +
	`|is (?:feeling )?(?:tired|hungry|thirsty|bored|busy|sleepy|here|back|ready|sure|fine|okay|ok|good|sorry|happy|glad|grateful)(?: (?:now|today|right now|to (?:help|hear|chat).*))?$` +
	`|(?:is|feels) .*\b(?:right now|at the moment)$` +
	`)`)

func dropReason(c extract.Candidate) string {
	switch s := c.Text; {
	case s == "":
		return "empty"
	case saysNoFacts(s):
		return "nothing to remember"
	case len(s) > maxFactBytes:
		return "too long"
	case utf8.RuneCountInString(s) < extract.MinFactLength:
		return "too short"
	case text.EndsInQuestionMark(s):
		return "a question"
	case strings.Contains(s, "****"): // Guard overwrote a secret with these asterisks
		return "a secret"
	case isContentless(s), transcriptLine.MatchString(strings.ToLower(s)):
		return "nothing to remember"
	case c.RememberRequested:
		return ""
	case smallTalk.MatchString(s):
		return "a transient state"
	}
	return ""
}

var transcriptLine = lazy.Compile(`^(?:user|assistant|context)(?: said)?: `)

// isContentless reports whether a text is a single word or has only words of speaking, knowing and asking.
func isContentless(s string) bool {
	for t := range extract.TermSet(s) {
		if !speechTerms.Has(t) && !requestTerms.Has(t) {
			return len(strings.Fields(s)) < 2
		}
	}
	return true
}

var requestTerms = lazy.SetOf("what who where when why how which would could do does did", extract.AllTermSet)

// ReadsLikeInstruction reports whether a fact's words read like an instruction to a model.
func ReadsLikeInstruction(words string) bool { return extract.IsInstruction(tidyFact(words)) }

// turnSources holds the turns from which candidates may come.
type turnSources struct{ utterances []extract.Utterance }

// bestSource returns the index of a candidate's turn, or -1, and how well that turn supports the candidate. If
// several turns match, it returns the turn with the best evidence.
func (r *turnSources) bestSource(c *extract.Candidate, subject string) (bestTurn int, g Grounding) {
	namedIndex := turnIndex(c.TurnID, r.utterances)
	if c.Span != nil && namedIndex >= 0 {
		return namedIndex, Grounding{} // the rule found the candidate in this turn
	}
	bestTurn = -1
	for _, i := range searchOrder(namedIndex, len(r.utterances)) {
		grounding := GroundClaim(Claim{c.Text, c.Quote, subject, c.Op}, r.utterances[i])
		if bestTurn < 0 || grounding.Grade < g.Grade || grounding.Grade == g.Grade && g.Span.End == 0 && grounding.Span.End > 0 {
			bestTurn, g = i, grounding
		}
		if g.Grade == Grounded {
			break
		}
	}
	if bestTurn >= 0 && g.Span.End > 0 {
		c.Span = &memory.Span{Turn: r.utterances[bestTurn].Turn.ID, Start: g.Span.Start, End: g.Span.End}
	}
	return bestTurn, g
}

// isBasedOnBlanked reports whether text that [Guard] blanked is the only evidence for a candidate: the blanked text
// has the quote or most of the candidate's terms, or the candidate names a turn that the model did not see.
func (r *turnSources) isBasedOnBlanked(c *extract.Candidate) bool {
	for _, s := range r.utterances {
		if _, shownTerms := locateQuote(s.Text, c.Quote); shownTerms {
			return false
		}
	}
	shownTerms, blankedTerms := map[string]bool{}, map[string]bool{}
	for _, s := range r.utterances {
		content := s.Turn.Content
		if len(content) != len(s.Text) || content == s.Text {
			continue
		}
		if span, ok := locateQuote(content, c.Quote); ok && isMostlyBlanked(content[span.Start:span.End], s.Text[span.Start:span.End]) {
			return true
		}
		for t := range extract.TermSet(blankedText(content, s.Text)) {
			blankedTerms[t] = true
		}
	}
	if c.Quote != "" && c.TurnID != "" && turnIndex(c.TurnID, r.utterances) < 0 {
		return true
	}
	if len(blankedTerms) == 0 {
		return false
	}
	for _, s := range r.utterances {
		for t := range extract.TermSet(s.Text) {
			shownTerms[t] = true
		}
	}
	total, inBlanked, inShown := 0, 0, 0
	for t := range extract.TermSet(c.Text) {
		if t == "user" {
			continue
		}
		total++
		if blankedTerms[t] {
			inBlanked++
		}
		if shownTerms[t] {
			inShown++
		}
	}
	return inBlanked*5 >= total*4 && inShown*2 <= total && inBlanked > inShown
}

// isMostlyBlanked reports whether most of content is blanked with spaces in guarded. Secrets, blanked with asterisks, do
// not count.
func isMostlyBlanked(content, guarded string) bool {
	letters, blanked := 0, 0
	for i := range len(content) {
		if content[i] == ' ' {
			continue
		}
		letters++
		if guarded[i] == ' ' {
			blanked++
		}
	}
	return blanked*2 > letters
}

// blankedText returns the part of a turn's content that [Guard] blanked.
func blankedText(content, guarded string) string {
	b := []byte(content)
	for i := range b {
		if guarded[i] != ' ' {
			b[i] = ' '
		}
	}
	return string(b)
}

// turnIndex returns the index of the turn with this id or short id, or -1.
func turnIndex(id string, utterances []extract.Utterance) int {
	short := strings.ToLower(strings.Trim(id, "[] "))
	for i, s := range utterances {
		if id != "" && id == s.Turn.ID || short == shortTurnID(i) || short == strconv.Itoa(i+1) {
			return i
		}
	}
	return -1
}

// searchOrder returns the indexes of turns to search: namedIndex unless it is negative, then the newest first.
func searchOrder(namedIndex, turnCount int) []int {
	var order []int
	if namedIndex >= 0 {
		order = append(order, namedIndex)
	}
	for i := turnCount - 1; i >= 0; i-- {
		if i != namedIndex {
			order = append(order, i)
		}
	}
	return order
}

// yearlyDate matches a fact about a date that has a day but no year.
var yearlyDate = lazy.Compile(`(?i)\b(?:birthday|anniversary|name day) is\b`)

// withTurn returns the candidate with the scope, time and speaker of its turn. It makes dates in a rule's
// candidate absolute; models write absolute dates themselves.
func withTurn(c extract.Candidate, s extract.Utterance, isFromRule bool) extract.Candidate {
	t := s.Turn
	c.TurnID, c.ConversationID, c.ObservedAt = t.ID, t.Conversation, memory.Time(t.CreatedAt)
	offset := 0
	if c.Span != nil {
		offset = c.Span.Start
	}
	c.ObservedSeq = extract.ObservationOrder(t.Index, offset)
	switch t.Role {
	case memory.RoleUser:
		c.Trust = memory.TrustUser
	case memory.RoleAssistant:
		c.Trust = memory.TrustAssistant
	default:
		c.Trust = memory.TrustUntrusted
	}
	if isFromRule && (!yearlyDate.MatchString(c.Text) || len(text.Numbers(c.Text)) == 0) {
		c.Text = text.WithAbsoluteDates(c.Text, t.CreatedAt)
	}
	return c
}
