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

// GuardOptions say what may be learned from.
type GuardOptions struct {
	// Assistant learns from the assistant's turns as well as from the user's.
	Assistant bool
	// Others keeps what somebody else who has a name said in the user's: to be read, not learned from.
	Others bool
	// Personal blanks personal identifiers too, see [Redact].
	Personal bool
	// Fence is how an injected block begins and ends. What stands between is
	// left out wherever it turns up.
	Begin, End string
	// Given returns what had come out of memory by the i-th turn, nil for nothing. Words
	// that were said before do not come from there. It is asked in order; nil: never.
	Injected func(i int) *Injected
	// Whole fills [extract.Utterance.Whole].
	Whole bool
}

// Guard returns what of the turns may be learned from. System turns, tool
// results and turns marked NoLearn are left out; injected blocks, repetitions of
// injected memories, text that a user's message carries but its user did not write,
// and secrets are blanked. A turn with nothing left is left out.
func Guard(turns []memory.Turn, o GuardOptions) []extract.Utterance {
	var out []extract.Utterance
	for i, t := range turns {
		if t.NoLearn || t.Role != memory.RoleUser && (t.Role != memory.RoleAssistant || !o.Assistant) {
			continue
		}
		var given *Injected
		if o.Injected != nil {
			given = o.Injected(i)
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
		given.blank(b, t.Role)
		blankSecrets(b, o.Personal)
		if said := string(b); strings.TrimSpace(said) != "" {
			s := extract.Utterance{Turn: t, Text: said, Unsure: unsure}
			if o.Whole {
				given.blank(whole, t.Role)
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

// blankFenced blanks what stands between begin and end, and all after a begin
// that is never closed.
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

// fill overwrites text and leaves line breaks where they are.
func fill(b []byte, with byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = with
		}
	}
}

// Lengths, in words, from which a repetition is taken for a copy. A person says
// short things about themselves more than once, in the same words.
const (
	shingle       = 5
	copiedBare    = 5
	copiedInFirst = 12
)

// Injected knows memories by their words, so that they are recognised when they come
// back in a turn: pasted, sent again by a client, or repeated by a model.
type Injected struct {
	base     *Injected // known besides
	lines    map[string]bool
	shingles map[string]bool
	told     []toldLine
	all      map[string]bool // the terms of all lines
	ids      []string
}

// toldLine is one memory of two terms or more.
type toldLine struct {
	body  string
	terms map[string]bool
}

// denies is dear, and asked of few lines.
func (l toldLine) denies() bool { return Denied(l.body) }

// NewInjected returns what recognises the given texts: the injected memories' words
// and the lines of the block that held them.
func NewInjected(texts ...string) *Injected {
	g := &Injected{lines: map[string]bool{}, shingles: map[string]bool{}, all: map[string]bool{}}
	for _, s := range texts {
		g.Add(s)
	}
	return g
}

// Add lets g recognise a text more, and with it what [Recalled] laid on g.
func (g *Injected) Add(s string) {
	for line := range strings.Lines(s) {
		body, _ := undress(line)
		if body == "" {
			continue
		}
		for t := range extract.TermSet(line) {
			g.all[t] = true
		}
		normal := text.Normalize(body)
		if g.lines[normal] { // as of most memories: the next block has them again
			continue
		}
		g.lines[normal] = true
		ws := text.Words(body)
		for i := 0; i+shingle <= len(ws); i++ {
			g.shingles[strings.Join(ws[i:i+shingle], " ")] = true
		}
		if set := extract.TermSet(body); len(set) >= 2 {
			g.told = append(g.told, toldLine{body, set})
		}
	}
}

// Recalled returns what recognises memories when nothing is left of the block that
// held them: after a restart, in a pruned history, in another process. found is what
// a search for the turn's [MaybeInjected] gives; base, which may be nil, is of the blocks that
// are still known, and stays as it is.
func Recalled(found []memory.Memory, base *Injected) *Injected {
	g := NewInjected()
	g.base = base
	for _, m := range found {
		g.Add(m.Content())
		g.ids = append(g.ids, m.ID())
	}
	return g
}

// line, shingle and term report what g and its base know of; tells asks about each memory.

func (g *Injected) line(normal string) bool {
	return g != nil && (g.lines[normal] || g.base.line(normal))
}

func (g *Injected) shingle(words string) bool {
	return g != nil && (g.shingles[words] || g.base.shingle(words))
}

func (g *Injected) term(t string) bool { return g != nil && (g.all[t] || g.base.term(t)) }

func (g *Injected) tells(so func(toldLine) bool) bool {
	return g != nil && (slices.ContainsFunc(g.told, so) || g.base.tells(so))
}

// maxMaybeInjected bounds how much is searched for on a turn's account.
const maxMaybeInjected = 8

// MaybeInjected returns the sentences of a turn that may have come out of memory, longest
// first: what an assistant says, and what a user's message has in the third person
// or as a line of a list. Most turns of a user have none.
func MaybeInjected(t memory.Turn) []string {
	var out []string
	for _, span := range text.Sentences(t.Content) {
		s := span.Of(t.Content)
		body, dressed := undress(s)
		if len(text.Words(body)) >= 3 && (t.Role == memory.RoleAssistant || dressed || isUser.MatchString(strings.ToLower(body)) || speaksToYou(body)) {
			out = append(out, body)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out[:min(len(out), maxMaybeInjected)]
}

// maxLeadIn is how long the words before a list that begins on their line may be:
// "Yesterday you wrote: - …".
const maxLeadIn = 60

// undress takes bullets, numbers, dates and labels in brackets off a line as it
// stands in a block, with what leads in to it on the same line. dressed reports whether there were any.
func undress(line string) (body string, dressed bool) {
	body = strings.TrimSpace(line)
	for {
		rest, bullet := item(body)
		if !bullet && rest != "" && (rest[0] == '[' || rest[0] == '(') {
			if end := strings.IndexAny(rest, "])"); end > 0 && end < 40 {
				rest, bullet = strings.TrimLeft(rest[end+1:], " :-"), true
			}
		}
		if m := written.FindString(rest); m != "" {
			rest, bullet = rest[len(m):], true
		}
		if i := strings.Index(rest, " [no longer so, since "); i > 0 {
			rest, bullet = rest[:i], true
		}
		if i := strings.Index(rest, ": "); !bullet && i > 0 && i <= maxLeadIn {
			rest, bullet = item(strings.TrimSpace(rest[i+1:]))
		}
		if !bullet {
			return body, dressed
		}
		body, dressed = rest, true
	}
}

// written is what a block writes before a memory: its date, and who said it.
var written = lazy.Compile(`^(?:\d{4}-\d\d-\d\d (?:[A-Z][a-z]{2} )?|summary: |[\p{L}\d_.-]{1,30} said: )`)

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
	body, dressed := undress(line)
	if body == "" || !g.line(text.Normalize(body)) {
		return false
	}
	return dressed || len(text.Words(body)) >= longEnough(body)
}

// hasID reports whether a line names a memory as nobody does from memory.
func (g *Injected) hasID(line string) bool {
	return slices.ContainsFunc(g.ids, func(id string) bool { return id != "" && strings.Contains(line, id) })
}

// hasSentence reports whether nearly all of a sentence's shingles are known.
func (g *Injected) hasSentence(s string) bool {
	ws := text.Words(s)
	if len(ws) < max(longEnough(s), shingle) {
		return g.line(text.Normalize(s)) && len(ws) >= longEnough(s)
	}
	all, known := 0, 0
	for i := 0; i+shingle <= len(ws); i++ {
		all++
		if g.shingle(strings.Join(ws[i:i+shingle], " ")) {
			known++
		}
	}
	return known*5 >= all*4
}

func longEnough(s string) int {
	if firstPerson(s) {
		return copiedInFirst
	}
	return copiedBare
}

// repeats reports whether a sentence says no more than one of the given memories,
// or all of one, in whatever words around it.
func (g *Injected) repeats(s string) bool {
	said := extract.TermSet(s)
	if len(said) == 0 {
		return false
	}
	return g.tells(func(known toldLine) bool {
		shared := 0
		for t := range said {
			if known.terms[t] {
				shared++
			}
		}
		return shared >= 2 && shared*5 >= len(said)*4 || shared == len(said) && shared*2 >= len(known.terms) || shared >= 3 && shared == len(known.terms)
	})
}

// telling are terms of who said or knows something.
var telling = lazy.SetOf("user you assistant say said tell told remember know mention summary memory", extract.TermsOf)

var iRemember = lazy.Compile(`(?i)^\s*i remember (?:that )?`)

// speaksToYou reports whether a sentence tells somebody of themselves: in a user's
// turn that is a reply sent back.
func speaksToYou(s string) bool {
	s = iRemember.ReplaceAllString(s, "")
	return toYou.MatchString(text.Fold(s)) && (!firstPerson(s) || addressed.MatchString(text.Fold(strings.TrimSpace(s))))
}

// saysNothingNew reports whether all words of a sentence are known: of one memory
// or, if an assistant says it or it is sent back to one, of several. What a person
// says in the first person is new even if it was said before: it may be so again.
func (g *Injected) saysNothingNew(s string, role memory.Role) bool {
	body, dressed := undress(s)
	back := role == memory.RoleAssistant || speaksToYou(body) || isUser.MatchString(strings.ToLower(body))
	if !back && (!dressed || firstPerson(body)) {
		return false
	}
	said := extract.TermSet(body)
	for t := range telling.All() {
		delete(said, t)
	}
	if len(said) == 0 || text.Asks(body) {
		return false
	}
	for t := range said {
		if !g.term(t) {
			return false
		}
	}
	denies := Denied(body)
	agrees := func(l toldLine) bool { return l.denies() == denies }
	return g.tells(func(l toldLine) bool { return subset(said, l.terms) && agrees(l) }) || back && g.tells(agrees)
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
