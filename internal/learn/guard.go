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
	// IncludeAssistant keeps the turns of the assistant, in addition to those of users.
	IncludeAssistant bool
	// IncludeOtherSpeakers keeps the words of other named speakers, but only as context.
	IncludeOtherSpeakers bool
	// BlankPersonal blanks personal identifiers (see [Redact]), in addition to secrets.
	BlankPersonal bool
	// FenceBegin and FenceEnd are the tags around an injected block. Guard blanks the block wherever it occurs.
	FenceBegin, FenceEnd string
	// InjectedUpTo returns the memories injected up to turn i, or nil. Guard calls the function in the order of
	// the turns. A nil function means that no memory was injected.
	InjectedUpTo func(i int) *InjectedMemories
	SetFullText  bool // also set [extract.Utterance.FullText]
}

// Guard returns the text of turns from which facts may be learned. It skips system turns, tool results and
// NoLearn turns. It blanks injected memories, text that the user did not write, and secrets. Guard omits
// turns without remaining text.
func Guard(turns []memory.Turn, o GuardOptions) []extract.Utterance {
	var out []extract.Utterance
	for i, t := range turns {
		if t.NoLearn || t.Role != memory.RoleUser && (t.Role != memory.RoleAssistant || !o.IncludeAssistant) {
			continue
		}
		var injected *InjectedMemories
		if o.InjectedUpTo != nil {
			injected = o.InjectedUpTo(i)
		}
		b := []byte(t.Content)
		blankFenced(b, o.FenceBegin, o.FenceEnd)
		whole, unsure := slices.Clone(b), false
		if t.Role == memory.RoleUser {
			u := utterance.ParseMessage(string(b), t.Foreign)
			if unsure = u.MayBeWrong; !o.IncludeOtherSpeakers || t.Name == "" || strings.TrimSpace(u.OwnText) != "" {
				copy(b, u.OwnText)
			}
		}
		injected.blankCopies(b, t.Role)
		blankSecrets(b, o.BlankPersonal)
		if rest := string(b); strings.TrimSpace(rest) != "" {
			s := extract.Utterance{Turn: t, Text: rest, MayBeQuoted: unsure}
			if o.SetFullText {
				injected.blankCopies(whole, t.Role)
				blankSecrets(whole, o.BlankPersonal)
				s.FullText = string(whole)
			}
			out = append(out, s)
		}
	}
	return out
}

func blankSecrets(b []byte, includePersonal bool) {
	for range maxRounds {
		found := findSecrets(string(b), includePersonal)
		if len(found) == 0 {
			return
		}
		for _, s := range found {
			overwrite(b[s.Start:s.End], '*')
		}
	}
}

// blankFenced blanks the text from opening to closing, or to the end of b if closing is missing.
func blankFenced(b []byte, opening, closing string) {
	if opening == "" {
		return
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(opening))
		if i < 0 {
			return
		}
		start, stop := at+i, len(b)
		if closing != "" {
			if j := bytes.Index(b[start+len(opening):], []byte(closing)); j >= 0 {
				stop = start + len(opening) + j + len(closing)
			}
		}
		overwrite(b[start:stop], ' ')
		at = stop
	}
}

// overwrite overwrites text but keeps line breaks.
func overwrite(b []byte, char byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = char
		}
	}
}

// Minimum numbers of words of a copy: shingleWords for a word sequence, minCopiedWords for a sentence, minCopiedFirstPerson
// for a first-person sentence, because people repeat short statements about themselves.
const (
	shingleWords         = 5
	minCopiedWords       = 5
	minCopiedFirstPerson = 12
)

// InjectedMemories recognises injected memories in the text of a turn: a person pasted them, a client sent them
// again, or a model repeated them.
type InjectedMemories struct {
	earlier  *InjectedMemories // memories of earlier blocks
	lines    map[string]bool
	shingles map[string]bool
	memories []memoryLine
	terms    map[string]bool // the terms of all lines
	ids      []string
}

// memoryLine is a memory that has at least two terms.
type memoryLine struct {
	body  string
	terms map[string]bool
}

// denies reports whether the memory denies something. It is slow, so callers use it for few lines.
func (l memoryLine) denies() bool { return IsDenial(l.body) }

// NewInjectedMemories returns InjectedMemories for memory texts or lines of injected blocks.
func NewInjectedMemories(texts ...string) *InjectedMemories {
	g := &InjectedMemories{lines: map[string]bool{}, shingles: map[string]bool{}, terms: map[string]bool{}}
	for _, s := range texts {
		g.Add(s)
	}
	return g
}

// Add adds a text that g recognises.
func (g *InjectedMemories) Add(s string) {
	for line := range strings.Lines(s) {
		body, _ := stripMarkup(line)
		if body == "" {
			continue
		}
		for t := range extract.TermSet(line) {
			g.terms[t] = true
		}
		normal := text.Normalize(body)
		if g.lines[normal] { // frequent case: the next block often has the same memories
			continue
		}
		g.lines[normal] = true
		ws := text.Words(body)
		for i := 0; i+shingleWords <= len(ws); i++ {
			g.shingles[strings.Join(ws[i:i+shingleWords], " ")] = true
		}
		if set := extract.TermSet(body); len(set) >= 2 {
			g.memories = append(g.memories, memoryLine{body, set})
		}
	}
}

// NewRecalledMemories returns InjectedMemories for memories whose block is lost, for example after a restart.
// memories has the results of searches for the turn's [PossiblyInjected]. base has the memories of the available
// blocks, may be nil and is not modified.
func NewRecalledMemories(memories []memory.Memory, base *InjectedMemories) *InjectedMemories {
	g := NewInjectedMemories()
	g.earlier = base
	for _, m := range memories {
		g.Add(m.Content())
		g.ids = append(g.ids, m.ID())
	}
	return g
}

// containsLine, containsShingle and containsTerm also search the memories of earlier blocks. g may be nil.

func (g *InjectedMemories) containsLine(normalized string) bool {
	return g != nil && (g.lines[normalized] || g.earlier.containsLine(normalized))
}

func (g *InjectedMemories) containsShingle(words string) bool {
	return g != nil && (g.shingles[words] || g.earlier.containsShingle(words))
}

func (g *InjectedMemories) containsTerm(t string) bool {
	return g != nil && (g.terms[t] || g.earlier.containsTerm(t))
}

func (g *InjectedMemories) anyMemory(matches func(memoryLine) bool) bool {
	return g != nil && (slices.ContainsFunc(g.memories, matches) || g.earlier.anyMemory(matches))
}

// maxInjectedSearches is the maximum number of searches for one turn.
const maxInjectedSearches = 8

// PossiblyInjected returns the sentences of a turn that may repeat memories, longest first: all sentences of an
// assistant, and a user's sentences in the third person or in a list.
func PossiblyInjected(t memory.Turn) []string {
	var out []string
	for _, span := range text.Sentences(t.Content) {
		s := span.Slice(t.Content)
		body, hadMarkup := stripMarkup(s)
		if len(text.Words(body)) >= 3 && (t.Role == memory.RoleAssistant || hadMarkup || userOpening.MatchString(strings.ToLower(body)) || addressesReader(body)) {
			out = append(out, body)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out[:min(len(out), maxInjectedSearches)]
}

// maxLeadIn is the maximum length in bytes of the words that introduce a list on its first line: "Yesterday you wrote: - …".
const maxLeadIn = 60

// stripMarkup removes bullets, numbers, dates, bracketed labels and a lead-in from a line of a block. hadMarkup
// reports whether the line had any of these.
func stripMarkup(line string) (body string, hadMarkup bool) {
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
			return body, hadMarkup
		}
		body, hadMarkup = rest, true
	}
}

// blockPrefix matches the date and speaker that a block writes before a memory.
var blockPrefix = lazy.Compile(`^(?:\d{4}-\d\d-\d\d (?:[A-Z][a-z]{2} )?|summary: |[\p{L}\d_.-]{1,30} said: )`)

func (g *InjectedMemories) blankCopies(b []byte, role memory.Role) {
	if g == nil {
		return
	}
	s := string(b)
	at := 0
	for line := range strings.Lines(s) {
		if g.isCopiedLine(line) || g.hasID(line) {
			overwrite(b[at:at+len(line)], ' ')
		}
		at += len(line)
	}
	for _, span := range text.Sentences(s) {
		if sentence := span.Slice(s); g.isCopiedSentence(sentence) || role == memory.RoleAssistant && g.repeatsMemory(sentence) || g.addsNothing(sentence, role) {
			overwrite(b[span.Start:span.End], ' ')
		}
	}
}

func (g *InjectedMemories) isCopiedLine(line string) bool {
	body, hadMarkup := stripMarkup(line)
	if body == "" || !g.containsLine(text.Normalize(body)) {
		return false
	}
	return hadMarkup || len(text.Words(body)) >= minCopyWords(body)
}

// hasID reports whether a line contains a memory's id. People do not type ids, so the line is a copy.
func (g *InjectedMemories) hasID(line string) bool {
	return slices.ContainsFunc(g.ids, func(id string) bool { return id != "" && strings.Contains(line, id) })
}

// isCopiedSentence reports whether g has nearly all shingles (word sequences) of a sentence.
func (g *InjectedMemories) isCopiedSentence(s string) bool {
	ws := text.Words(s)
	if len(ws) < max(minCopyWords(s), shingleWords) {
		return g.containsLine(text.Normalize(s)) && len(ws) >= minCopyWords(s)
	}
	total, copied := 0, 0
	for i := 0; i+shingleWords <= len(ws); i++ {
		total++
		if g.containsShingle(strings.Join(ws[i:i+shingleWords], " ")) {
			copied++
		}
	}
	return copied*5 >= total*4
}

func minCopyWords(s string) int {
	if isFirstPerson(s) {
		return minCopiedFirstPerson
	}
	return minCopiedWords
}

// repeatsMemory reports whether an injected memory has most terms of a sentence, or the sentence has all terms of a memory.
func (g *InjectedMemories) repeatsMemory(s string) bool {
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

// speechTerms are terms of speaking and knowing.
var speechTerms = lazy.SetOf("user you assistant say said tell told remember know mention summary memory", extract.AllTermSet)

var rememberOpening = lazy.Compile(`(?i)^\s*i remember (?:that )?`)

// addressesReader reports whether a sentence tells its reader about the reader ("you like …"). In a user's turn,
// such a sentence was copied from an assistant's reply.
func addressesReader(s string) bool {
	s = rememberOpening.ReplaceAllString(s, "")
	return secondPerson.MatchString(text.Fold(s)) && (!isFirstPerson(s) || secondPersonOpening.MatchString(text.Fold(strings.TrimSpace(s))))
}

// addsNothing reports whether injected memories have all words of a sentence. One memory must have all
// words of a user's sentence; several memories may cover a sentence that an assistant wrote. First-person
// statements always count as new.
func (g *InjectedMemories) addsNothing(s string, role memory.Role) bool {
	body, hadMarkup := stripMarkup(s)
	fromAssistant := role == memory.RoleAssistant || addressesReader(body) || userOpening.MatchString(strings.ToLower(body))
	if !fromAssistant && (!hadMarkup || isFirstPerson(body)) {
		return false
	}
	terms := extract.TermSet(body)
	for t := range speechTerms.All() {
		delete(terms, t)
	}
	if len(terms) == 0 || text.EndsInQuestionMark(body) {
		return false
	}
	for t := range terms {
		if !g.containsTerm(t) {
			return false
		}
	}
	denies := IsDenial(body)
	agrees := func(l memoryLine) bool { return l.denies() == denies }
	return g.anyMemory(func(l memoryLine) bool { return isSubset(terms, l.terms) && agrees(l) }) || fromAssistant && g.anyMemory(agrees)
}

func isSubset(part, superset map[string]bool) bool {
	for t := range part {
		if !superset[t] {
			return false
		}
	}
	return true
}

func isFirstPerson(s string) bool {
	for _, w := range text.Words(s) {
		switch w {
		case "i", "my", "me", "mine", "we", "our", "im", "ive":
			return true
		}
	}
	return false
}

var (
	userOpening         = lazy.Compile(`^(?:the )?user\b`)
	secondPerson        = lazy.Compile(`\b(?:you|your|yours|you're|you've)\b`)
	secondPersonOpening = lazy.Compile(`^(?:you|your|you're|you've|yours)\b`)
)
