package learn

import (
	"bytes"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// GuardOptions select the text that Guard keeps.
type GuardOptions struct {
	// Assistant also keeps the turns of the assistant.
	Assistant bool
	// Others keeps the words of other named speakers, but only as context.
	Others bool
	// Personal also blanks personal identifiers (see [Redact]).
	Personal bool
	// FenceBegin and FenceEnd are the tags around an injected block. Guard blanks the block wherever it occurs.
	Begin, End string
	// Injected returns the memories injected up to turn i, or nil. Guard calls Injected in the order of the
	// turns. A nil function means that no memory was injected.
	Injected func(i int) *Injected
	Whole    bool // also set [extract.Utterance.Whole]
}

// Guard returns the text of turns from which facts may be learned. It skips system turns, tool results and
// NoLearn turns. It blanks injected memories, text that the user did not write, and secrets. Guard omits
// turns without remaining text.
func Guard(turns []memory.Turn, o GuardOptions) []extract.Utterance {
	var out []extract.Utterance
	for i, t := range turns {
		if t.NoLearn || t.Role != memory.RoleUser && (t.Role != memory.RoleAssistant || !o.Assistant) {
			continue
		}
		var injected *Injected
		if o.Injected != nil {
			injected = o.Injected(i)
		}
		b := []byte(t.Content)
		blankFenced(b, o.Begin, o.End)
		whole, unsure := slices.Clone(b), false
		if t.Role == memory.RoleUser {
			u := utterance.Read(string(b), t.Foreign)
			if unsure = u.Unsure; !o.Others || t.Name == "" || strings.TrimSpace(u.Own) != "" {
				copy(b, u.Own)
			}
		}
		injected.blank(b, t.Role)
		blankSecrets(b, o.Personal)
		if rest := string(b); strings.TrimSpace(rest) != "" {
			s := extract.Utterance{Turn: t, Text: rest, Unsure: unsure}
			if o.Whole {
				injected.blank(whole, t.Role)
				blankSecrets(whole, o.Personal)
				s.Whole = string(whole)
			}
			out = append(out, s)
		}
	}
	return out
}

func blankSecrets(b []byte, personal bool) {
	for range rounds {
		found := secrets(string(b), personal)
		if len(found) == 0 {
			return
		}
		for _, s := range found {
			fill(b[s.Start:s.End], '*')
		}
	}
}

// blankFenced blanks the text between begin and end. If end is missing, it blanks everything after begin.
func blankFenced(b []byte, begin, end string) {
	if begin == "" {
		return
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(begin))
		if i < 0 {
			return
		}
		start, stop := at+i, len(b)
		if end != "" {
			if j := bytes.Index(b[start+len(begin):], []byte(end)); j >= 0 {
				stop = start + len(begin) + j + len(end)
			}
		}
		fill(b[start:stop], ' ')
		at = stop
	}
}

// fill overwrites text but keeps line breaks.
func fill(b []byte, with byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = with
		}
	}
}

// Minimum numbers of words of a copy: shingle for a word sequence, copiedBare for a sentence, copiedInFirst
// for a first-person sentence, because people repeat short statements about themselves.
const (
	shingle       = 5
	copiedBare    = 5
	copiedInFirst = 12
)

// Injected recognises injected memories in the text of a turn: a person pasted them, a client sent them
// again, or a model repeated them.
type Injected struct {
	base     *Injected // memories of earlier blocks
	lines    map[string]bool
	shingles map[string]bool
	memories []memoryLine
	all      map[string]bool // the terms of all lines
	ids      []string
}

// memoryLine is a memory that has at least two terms.
type memoryLine struct {
	body  string
	terms map[string]bool
}

// denies reports whether the memory denies something. It is slow, so callers use it for few lines.
func (l memoryLine) denies() bool { return Denied(l.body) }

// NewInjected returns an Injected for memory texts or lines of injected blocks.
func NewInjected(texts ...string) *Injected {
	g := &Injected{lines: map[string]bool{}, shingles: map[string]bool{}, all: map[string]bool{}}
	for _, s := range texts {
		g.Add(s)
	}
	return g
}

// Add adds a text that g recognises.
func (g *Injected) Add(s string) {
	for line := range strings.Lines(s) {
		body, _ := stripMarkup(line)
		if body == "" {
			continue
		}
		for t := range extract.TermSet(line) {
			g.all[t] = true
		}
		normal := text.Normalize(body)
		if g.lines[normal] { // common: the next block often has the same memories
			continue
		}
		g.lines[normal] = true
		ws := text.Words(body)
		for i := 0; i+shingle <= len(ws); i++ {
			g.shingles[strings.Join(ws[i:i+shingle], " ")] = true
		}
		if set := extract.TermSet(body); len(set) >= 2 {
			g.memories = append(g.memories, memoryLine{body, set})
		}
	}
}

// Recalled returns an Injected for memories whose block is lost, for example after a restart. found has the
// results of searches for the turn's [MaybeInjected]. base has the memories of the available blocks, may be
// nil and is not modified.
func Recalled(found []memory.Memory, base *Injected) *Injected {
	g := NewInjected()
	g.base = base
	for _, m := range found {
		g.Add(m.Content())
		g.ids = append(g.ids, m.ID())
	}
	return g
}

// line, shingle and term report whether g or its base has the line, word sequence or term.

func (g *Injected) line(normal string) bool {
	return g != nil && (g.lines[normal] || g.base.line(normal))
}

func (g *Injected) shingle(words string) bool {
	return g != nil && (g.shingles[words] || g.base.shingle(words))
}

func (g *Injected) term(t string) bool { return g != nil && (g.all[t] || g.base.term(t)) }

func (g *Injected) anyMemory(so func(memoryLine) bool) bool {
	return g != nil && (slices.ContainsFunc(g.memories, so) || g.base.anyMemory(so))
}

// maxMaybeInjected is the maximum number of searches for one turn.
const maxMaybeInjected = 8

// MaybeInjected returns the sentences of a turn that may repeat memories, longest first: all sentences of an
// assistant, and a user's sentences in the third person or in a list.
func MaybeInjected(t memory.Turn) []string {
	var out []string
	for _, span := range text.Sentences(t.Content) {
		s := span.Of(t.Content)
		body, dressed := stripMarkup(s)
		if len(text.Words(body)) >= 3 && (t.Role == memory.RoleAssistant || dressed || isUser.MatchString(strings.ToLower(body)) || speaksToYou(body)) {
			out = append(out, body)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out[:min(len(out), maxMaybeInjected)]
}

// maxLeadIn is the maximum length of the words that introduce a list on its first line: "Yesterday you wrote: - …".
const maxLeadIn = 60

// stripMarkup removes bullets, numbers, dates, bracketed labels and a lead-in from a line of a block. dressed
// reports whether the line had such markup.
func stripMarkup(line string) (body string, dressed bool) {
	body = strings.TrimSpace(line)
	for {
		rest, bullet := trimBullet(body)
		if !bullet && rest != "" && (rest[0] == '[' || rest[0] == '(') {
			if end := strings.IndexAny(rest, "])"); end > 0 && end < 40 {
				rest, bullet = strings.TrimLeft(rest[end+1:], " :-"), true
			}
		}
		if m := blockPrefix.FindString(rest); m != "" {
			rest, bullet = rest[len(m):], true
		}
		if i := strings.Index(rest, " [no longer so, since "); i > 0 {
			rest, bullet = rest[:i], true
		}
		if i := strings.Index(rest, ": "); !bullet && i > 0 && i <= maxLeadIn {
			rest, bullet = trimBullet(strings.TrimSpace(rest[i+1:]))
		}
		if !bullet {
			return body, dressed
		}
		body, dressed = rest, true
	}
}

// blockPrefix matches the date and speaker that a block writes before a memory.
var blockPrefix = lazy.Compile(`^(?:\d{4}-\d\d-\d\d (?:[A-Z][a-z]{2} )?|summary: |[\p{L}\d_.-]{1,30} said: )`)

func (g *Injected) blank(b []byte, role memory.Role) {
	if g == nil {
		return
	}
	s := string(b)
	at := 0
	for line := range strings.Lines(s) {
		if g.hasLine(line) || g.hasID(line) {
			fill(b[at:at+len(line)], ' ')
		}
		at += len(line)
	}
	for _, span := range text.Sentences(s) {
		if sentence := span.Of(s); g.hasSentence(sentence) || role == memory.RoleAssistant && g.repeats(sentence) || g.saysNothingNew(sentence, role) {
			fill(b[span.Start:span.End], ' ')
		}
	}
}

func (g *Injected) hasLine(line string) bool {
	body, dressed := stripMarkup(line)
	if body == "" || !g.line(text.Normalize(body)) {
		return false
	}
	return dressed || len(text.Words(body)) >= longEnough(body)
}

// hasID reports whether a line contains a memory's id, which people do not type.
func (g *Injected) hasID(line string) bool {
	return slices.ContainsFunc(g.ids, func(id string) bool { return id != "" && strings.Contains(line, id) })
}

// hasSentence reports whether g has nearly all shingles (word sequences) of a sentence.
func (g *Injected) hasSentence(s string) bool {
	ws := text.Words(s)
	if len(ws) < max(longEnough(s), shingle) {
		return g.line(text.Normalize(s)) && len(ws) >= longEnough(s)
	}
	all, found := 0, 0
	for i := 0; i+shingle <= len(ws); i++ {
		all++
		if g.shingle(strings.Join(ws[i:i+shingle], " ")) {
			found++
		}
	}
	return found*5 >= all*4
}

func longEnough(s string) int {
	if firstPerson(s) {
		return copiedInFirst
	}
	return copiedBare
}

// repeats reports whether an injected memory has most terms of a sentence, or the sentence has all terms of a memory.
func (g *Injected) repeats(s string) bool {
	terms := extract.TermSet(s)
	if len(terms) == 0 {
		return false
	}
	return g.anyMemory(func(memory memoryLine) bool {
		shared := 0
		for t := range terms {
			if memory.terms[t] {
				shared++
			}
		}
		return shared >= 2 && shared*5 >= len(terms)*4 || shared == len(terms) && shared*2 >= len(memory.terms) || shared >= 3 && shared == len(memory.terms)
	})
}

// tellingTerms are terms of speaking and knowing.
var tellingTerms = lazy.SetOf("user you assistant say said tell told remember know mention summary memory", extract.TermsOf)

var iRemember = lazy.Compile(`(?i)^\s*i remember (?:that )?`)

// speaksToYou reports whether a sentence tells its reader about the reader ("you like …"). In a user's turn,
// such a sentence was copied from an assistant's reply.
func speaksToYou(s string) bool {
	s = iRemember.ReplaceAllString(s, "")
	return toYou.MatchString(text.Fold(s)) && (!firstPerson(s) || addressed.MatchString(text.Fold(strings.TrimSpace(s))))
}

// saysNothingNew reports whether injected memories have all words of a sentence. One memory must have all
// words of a user's sentence; several memories may cover a sentence that an assistant wrote. First-person
// statements always count as new.
func (g *Injected) saysNothingNew(s string, role memory.Role) bool {
	body, dressed := stripMarkup(s)
	back := role == memory.RoleAssistant || speaksToYou(body) || isUser.MatchString(strings.ToLower(body))
	if !back && (!dressed || firstPerson(body)) {
		return false
	}
	terms := extract.TermSet(body)
	for t := range tellingTerms.All() {
		delete(terms, t)
	}
	if len(terms) == 0 || text.Asks(body) {
		return false
	}
	for t := range terms {
		if !g.term(t) {
			return false
		}
	}
	denies := Denied(body)
	agrees := func(l memoryLine) bool { return l.denies() == denies }
	return g.anyMemory(func(l memoryLine) bool { return subset(terms, l.terms) && agrees(l) }) || back && g.anyMemory(agrees)
}

func subset(of, whole map[string]bool) bool {
	for t := range of {
		if !whole[t] {
			return false
		}
	}
	return true
}

func firstPerson(s string) bool {
	for _, w := range text.Words(s) {
		switch w {
		case "i", "my", "me", "mine", "we", "our", "im", "ive":
			return true
		}
	}
	return false
}

var (
	isUser    = lazy.Compile(`^(?:the )?user\b`)
	toYou     = lazy.Compile(`\b(?:you|your|yours|you're|you've)\b`)
	addressed = lazy.Compile(`^(?:you|your|you're|you've|yours)\b`)
)
