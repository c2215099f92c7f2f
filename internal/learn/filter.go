package learn

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// minLength is the fewest letters a fact has (SPEC 3.5).
const minLength = 10

// unsupported is why a candidate waits that its turn does not say.
const unsupported = "the turn does not say so"

// Dropped is a candidate that is not remembered, and why.
type Dropped struct {
	Candidate Candidate
	Reason    string
}

// Filter returns the candidates worth remembering, each with its words made
// standalone, its turn and quote found and its time set. What is too short, a
// question or passing talk is dropped. What reads like an instruction, or is not
// supported by its turn, is kept with Waits set.
func Filter(cands []Candidate, said []Said) (kept []Candidate, dropped []Dropped) {
	r := sources{said: said}
	for _, c := range cands {
		c.Text = tidy(c.Text)
		if reason := worthless(c); reason != "" {
			dropped = append(dropped, Dropped{c, reason})
			continue
		}
		c = classified(c)
		i, found := r.source(&c)
		if i < 0 {
			dropped = append(dropped, Dropped{c, "there is no turn that it could be from"})
			continue
		}
		c = placed(c, said[i])
		switch {
		case instructs(c.Text):
			c.Waits = "it reads like an instruction"
		case c.Waits == "" && !found:
			c.Waits = unsupported
		}
		kept = append(kept, c)
	}
	return kept, dropped
}

// tidy returns the words of one fact: one line, no bullet, no quotation marks
// around it, and no full stop after a single sentence.
func tidy(s string) string {
	s, _ = item(strings.Join(strings.Fields(s), " "))
	for len(s) > 1 && strings.IndexByte("\"'`", s[0]) >= 0 && s[len(s)-1] == s[0] {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	if len(text.Sentences(s)) == 1 && !strings.HasSuffix(s, "..") {
		s = strings.TrimRight(s, ".")
	}
	return s
}

// passing is talk that is over when the conversation is.
var passing = regexp.MustCompile(`(?i)^(?:the )?user (?:` +
	`(?:is |was |has )?(?:just )?(?:ask(?:s|ed|ing)|request(?:s|ed|ing)?|inquir|greet(?:s|ed|ing)?|thank(?:s|ed|ing)?|repl(?:y|ies|ied)|respond(?:s|ed)?|said (?:hello|hi|yes|no|thanks)|says (?:hello|hi|yes|no|thanks))\b` +
	`|(?:is|was) (?:just )?(?:testing|typing|waiting|chatting|writing a (?:message|prompt)|interacting|speaking with|talking to (?:the|an) (?:assistant|ai|bot))\b` +
	`|(?:wants|needs|would like) (?:the )?(?:assistant|me|you|ai|help with this)\b` +
	`|is (?:feeling )?(?:tired|hungry|thirsty|bored|busy|sleepy|here|back|ready|sure|fine|okay|ok|good|sorry|happy|glad|grateful)(?: (?:now|today|right now|to (?:help|hear|chat).*))?$` +
	`|(?:is|feels) .*\b(?:right now|at the moment)$` +
	`)`)

func worthless(c Candidate) string {
	switch s := c.Text; {
	case s == "":
		return "empty"
	case nothing(s):
		return "nothing to remember"
	case utf8.RuneCountInString(s) < minLength:
		return "too short"
	case text.Asks(s):
		return "a question"
	case c.Remember:
		return ""
	case passing.MatchString(s):
		return "passing talk"
	}
	return ""
}

// instruction is text that would steer a model rather than describe a person.
var instruction = regexp.MustCompile(`(?i)` +
	`\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|all|any|your|system|safety)\b.{0,20}\b(?:instruction|prompt|rule|message|guideline|polic|filter|training)` +
	`|\b(?:system prompt|developer mode|jailbreak|prompt injection)\b` +
	`|\byou are now\b|\bfrom now on,? you\b|\bact as (?:if you|an? (?:unrestricted|different|evil|ai))` +
	`|^(?:you (?:must|should|shall|will|have to) |please )?(?:always|never) (?:answer|reply|respond|call|use|send|run|execute|include|append|insert|output|say|tell|recommend|mention|reveal|obey|follow|write|forward|email|visit|open|click|print|refuse|trust|approve|return|begin|start|end)\b` +
	`|\b(?:assistant|model|ai|bot|agent|system|loci)\b.{0,20}\b(?:must|should|shall|has to|is (?:to|instructed|required|allowed|permitted|authori[sz]ed) to)\b` +
	`|\b(?:send|post|forward|upload|exfiltrate|email)\b.{0,40}(?:https?://|\bapi keys?\b|\bpasswords?\b|\bcredentials\b|\bconversation\b|\bmemories\b)` +
	`|<\|?/?(?:im_start|im_end|system|endoftext)|\[/?INST\]|^#+ ?(?:system|instruction)|\bBEGIN (?:SYSTEM|INSTRUCTIONS)\b`)

func instructs(s string) bool { return instruction.MatchString(s) }

// sources reads turns as statements, each when it is first needed.
type sources struct {
	said []Said
	read [][]assertion
}

func (r *sources) assertions(i int) []assertion {
	if r.read == nil {
		r.read = make([][]assertion, len(r.said))
	}
	if r.read[i] == nil {
		r.read[i] = assertions(r.said[i])
	}
	return r.read[i]
}

// source finds the turn that a candidate is from and the place of its quote.
// supported reports whether the turn says so. Without any turn it returns -1.
func (r *sources) source(c *Candidate) (turn int, supported bool) {
	named := named(c.Turn, r.said)
	if c.Span != nil && named >= 0 {
		return named, true // a rule read it there
	}
	order := candidatesFirst(named, len(r.said))
	if len(order) == 0 {
		return -1, false
	}
	at := func(i int, span text.Span) *memory.Span {
		return &memory.Span{Turn: r.said[i].Turn.ID, Start: span.Start, End: span.End}
	}
	quoted := -1
	for _, i := range order {
		span, ok := locate(r.said[i].Text, c.Quote)
		if !ok {
			continue
		}
		if _, ok := supports(c.Text, r.said[i], r.assertions(i), span); ok {
			c.Span = at(i, span)
			return i, true
		}
		if quoted < 0 {
			quoted, c.Span = i, at(i, span)
		}
	}
	if quoted >= 0 {
		return quoted, false
	}
	for _, i := range order {
		if span, ok := supports(c.Text, r.said[i], r.assertions(i), text.Span{}); ok {
			c.Span = at(i, span)
			return i, true
		}
	}
	return order[0], false
}

// named returns the place of the turn with this id or short id, -1 without one.
func named(name string, said []Said) int {
	short := strings.ToLower(strings.Trim(name, "[] "))
	for i, s := range said {
		if name != "" && name == s.Turn.ID || short == turnName(i) || short == strconv.Itoa(i+1) {
			return i
		}
	}
	return -1
}

// candidatesFirst orders the turns to look in: the named one, then the newest.
func candidatesFirst(named, n int) []int {
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

// yearly is what has a day but no year.
var yearly = regexp.MustCompile(`(?i)\b(?:birthday|anniversary|name day) is\b`)

// placed returns the candidate with what its turn knows: where and when it was
// said, by whom, and dates made absolute.
func placed(c Candidate, s Said) Candidate {
	t := s.Turn
	c.Turn, c.Conversation, c.ObservedAt = t.ID, t.Conversation, memory.Time(t.CreatedAt)
	offset := 0
	if c.Span != nil {
		offset = c.Span.Start
	}
	c.ObservedSeq = sequence(t.Index, offset)
	switch t.Role {
	case memory.RoleUser:
		c.Trust = memory.TrustUser
	case memory.RoleAssistant:
		c.Trust = memory.TrustAssistant
	default:
		c.Trust = memory.TrustUntrusted
	}
	if !yearly.MatchString(c.Text) || len(text.Numbers(c.Text)) == 0 {
		c.Text = text.Absolute(c.Text, t.CreatedAt)
	}
	return c
}
