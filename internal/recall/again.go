package recall

import (
	"slices"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// "You work as a nurse in Porto" was said by the assistant, who knew it from the user. Beside the
// user's own words it is not a second witness, and what it says is no reason to believe it. So it is
// with a question that names what is told beside it: "How old is Rex?" next to "my dog Rex".

// In returns those of the hits that are repeats: by themselves, or since what they say is told by
// the user, or known as a fact, among the best of the others.
func (e *RepeatFilter) In(hits []memory.Hit) (repeats []memory.Hit) {
	if e.noted(hits) {
		return nil
	}
	defer func() {
		if len(repeats) == 0 {
			e.note(hits)
		}
	}()
	var doubtful []memory.Hit
	for _, h := range hits {
		switch {
		case e.Is(h.Memory):
			repeats = append(repeats, h)
		case !e.heard && !e.Keep && e.maySayAgain(h.Memory):
			doubtful = append(doubtful, h)
			continue
		default:
			continue
		}
		e.reply(h.Memory.Turn)
	}
	if len(doubtful) == 0 {
		return repeats
	}
	e.ask()
	told := e.told(hits)
	for _, role := range [...]memory.Role{memory.RoleUser, memory.RoleAssistant} { // what is answered, and then answers
		for _, h := range doubtful {
			if t := h.Memory.Turn; t.Role == role && e.again(t, told) {
				repeats = append(repeats, h)
				e.reply(t)
			}
		}
	}
	return repeats
}

// note keeps hits among which there is no repeat.
func (e *RepeatFilter) note(hits []memory.Hit) {
	e.clean = e.clean[:0]
	for _, h := range hits {
		e.clean = append(e.clean, h.Memory)
	}
}

// noted reports whether the hits are those that were noted last.
func (e *RepeatFilter) noted(hits []memory.Hit) bool {
	return len(hits) > 0 && slices.EqualFunc(hits, e.clean, func(h memory.Hit, m memory.Memory) bool { return h.Memory == m })
}

// longestAgain is how many bytes a turn has at most that does nothing but say again what is known.
const longestAgain = 320

// maySayAgain reports whether a turn may say nothing but what is told beside it.
func (e *RepeatFilter) maySayAgain(m memory.Memory) bool {
	t := m.Turn
	switch {
	case t == nil || t.Name != "":
		return false
	case t.Role == memory.RoleUser:
		return len(t.Content) <= longestAgain && e.asks(t)
	}
	return t.Role == memory.RoleAssistant
}

// asks reports whether a turn tells nothing, or nothing but by the way.
func (e *RepeatFilter) asks(t *memory.Turn) bool {
	return e.manner(t).is == english.Asks
}

// reply notes where a repeat is answered.
func (e *RepeatFilter) reply(t *memory.Turn) {
	if t.Role != memory.RoleUser {
		return
	}
	if e.replied == nil {
		e.replied = map[place]bool{}
	}
	e.replied[place{t.Conversation, t.Index + 1}] = true
}

// witness is what is known of the user's own telling.
type witness struct {
	terms   terms
	numbers []string
	negated bool // some of it says what is not so
}

// Answers reports whether a turn answers one that is a repeat. Where nobody tells what was asked
// for, the assistant may have.
func (e *RepeatFilter) Answers(m memory.Memory) bool {
	return m.Turn != nil && m.Turn.Role == memory.RoleAssistant && e.replied[place{m.Turn.Conversation, m.Turn.Index}]
}

// told reads the best of the hits that tell.
func (e *RepeatFilter) told(hits []memory.Hit) (out witness) {
	n, room := 0, make([]uint64, 0, 4*usualTerms)
	out.terms = e.room[:0]
	for _, h := range hits {
		t := h.Memory.Turn
		if h.Memory.Fact == nil && (t == nil || t.Role != memory.RoleUser || e.asks(t)) {
			continue
		}
		content := h.Memory.Content()
		room = text.TermHashes(room[:0], content)
		out.terms = append(out.terms, room...)
		out.numbers = append(out.numbers, text.Numbers(content)...)
		out.negated = out.negated || text.Negated(content)
		if n++; n == DefaultTopK {
			break
		}
	}
	slices.Sort(out.terms)
	e.room = out.terms
	out.terms = slices.Compact(out.terms)
	return out
}

// Shares of what a turn says that must be told beside it: of the user's question if it asks memory,
// of an answer to such a question, and of all others.
const (
	asksAgain    = 0.5
	answersAgain = 0.5
	saysAgain    = 0.8
)

// again reports whether a turn says only what is told.
func (e *RepeatFilter) again(t *memory.Turn, told witness) bool {
	if t.Role == memory.RoleAssistant && e.replied[place{t.Conversation, t.Index}] && english.Denies(t.Content) {
		return true
	}
	if len(t.Content) > longestAgain {
		return false
	}
	content, least := t.Content, saysAgain
	switch m := e.manner(t); {
	case t.Role == memory.RoleUser && m.is == english.Asks:
		content, least = m.asked, asksAgain
	case t.Role == memory.RoleUser:
	case e.replied[place{t.Conversation, t.Index}]:
		least = answersAgain
	}
	if t.Role == memory.RoleAssistant && english.GivesBack(content) {
		content = english.Remainder(content)
	}
	own, again := e.common(content, told) // most turns say something of their own
	if own > 0 && (len(told.terms) == 0 || float64(again) < least*float64(own)) || least == saysAgain && t.Role == memory.RoleAssistant && !told.negated && text.Negated(content) {
		return false
	}
	for _, name := range text.Names(content) {
		if own, again := e.common(name, told); again < own {
			return false
		}
	}
	for _, number := range text.Numbers(content) {
		if !slices.Contains(told.numbers, number) && !slices.Contains(e.numbers, number) {
			return false
		}
	}
	return own > 0 || len(content) < len(t.Content) || least == answersAgain && len(told.terms) > 0
}

// common counts the terms of a text but for numbers and for those that answers and questions are
// made with, and those of them that are told or in the question.
func (e *RepeatFilter) common(content string, told witness) (own, again int) {
	room := [1]uint64{}
	text.EachWord(content, func(w string) {
		if text.IsNumber(w) || w[0] >= '0' && w[0] <= '9' {
			return
		}
		for _, term := range text.TermHashes(room[:0], w) {
			switch {
			case chatter.Get().has(term):
			case told.terms.has(term), e.plain.has(term):
				own, again = own+1, again+1
			default:
				own++
			}
		}
	})
	return own, again
}

// ask reads the question, all of it.
func (e *RepeatFilter) ask() {
	if e.plain == nil {
		e.plain, e.numbers = termsOf(e.question), text.Numbers(e.question)
	}
}

// grants reports whether a turn takes for granted what the question asks for: "Do I have a dog?" or
// "What pets do I have?", and "How old is my dog?".
func (e *RepeatFilter) grants(said string) bool {
	if e.kinds != 0 && e.owns(said) {
		return true
	}
	if !e.confirms || confirms.MatchString(said) {
		return false
	}
	for _, term := range text.Terms(said) {
		if e.terms[term] || e.related[term] {
			return true
		}
	}
	return false
}

// ownWithin is how many words behind "my" one's own stands.
const ownWithin = 2

// owns reports whether a turn names something of the user's of a kind that the question asks for.
func (e *RepeatFilter) owns(said string) (found bool) {
	left := 0
	text.EachWord(said, func(w string) {
		if w == "my" || w == "our" {
			left = ownWithin
			return
		}
		if left > 0 {
			left--
			term := text.Term(w)
			found = found || !e.terms[term] && text.ClassesOf(term)&e.kinds != 0
		}
	})
	return found
}

// chatter are terms by which an assistant takes note or gives back, and those that all ask with.
var chatter = lazy.Make(func() terms {
	return termsOf(fillerWords + askingWords + ` yes no yeah sure right correct indeed noted note good great nice lovely fine well okay got understood
		glad hear sorry thank thanks welcome meet congratulations congrats wonderful enjoy hope sound based previous conversation according told tell
		mentioned earlier memory call named name like far here so let me know make keep mind will also certainly absolutely course happy`)
})
