package recall

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// "Where was I born?" is not answered by where a daughter was, nor "Do I have a dog?" by
// what one would be called. The words are right, and whose they are shows only in the clause in
// which they stand: who is its subject, whether somebody else is quoted, whether it is a mere
// case. Ranking knows no clauses, so this looks at what it kept.

// SubjectFilter tells of a question about the user alone which memories have its words of somebody
// else only. It is not safe for concurrent use.
type SubjectFilter struct {
	asked  *RepeatFilter // for its words
	of     Query
	people bool // it is whether the user has somebody, or some animal
	mere   bool // it asks for what might be
	turns  map[place]bool
	claims []claim // of one text; their room is used again
}

// place is where a turn stands.
type place struct {
	conversation string
	index        int
}

// NewSubjectFilter reads a question. Of one that is about somebody else, or may be, nothing is
// somebody else's, and there is nil.
func NewSubjectFilter(q Query) *SubjectFilter {
	if !q.self || q.Broad || len(q.words) > mostAsking || !ofSelf.MatchString(q.Asked) || ofThird(q.Asked) || namesSomebody(q.Asked) {
		return nil
	}
	o := &SubjectFilter{asked: NewRepeatFilter(q.Asked), of: q, mere: ofCase.MatchString(q.Asked), turns: map[place]bool{}}
	o.people = (q.owns || q.classes&text.OwnPeople() != 0 || slices.ContainsFunc(q.words, isSomebody)) && !ofBeing.MatchString(q.Asked)
	if o.people && !ofHaving.MatchString(q.Asked) || o.asked.heard {
		return nil
	}
	o.asked.read()
	return o
}

func isSomebody(w string) bool { return (sayings.Get()[w]|sayings.Get()[text.Term(w)])&somebody != 0 }

// mostAsking is how many words a question for one thing has at most.
const mostAsking = 16

var (
	// ofSelf are questions whose subject is the user, or something of theirs.
	ofSelf = lazy.Compile(`(?i)\b(?:am|was|do|did|have|had|can|could|should|must|will|may|don['’]?t|didn['’]?t|can['’]?t|haven['’]?t|wasn['’]?t) i\b|^\W*(?:\w+\W+){0,2}(?:what|where|when|which|how (?:much|old|big|high|tall|long))(?:['’]?s| is| are| was| were) my\b`)
	// ofBeing are questions for what the user is: "am I a widow?".
	ofBeing = lazy.Compile(`(?i)\b(?:am|was) i\b`)
	// ofWhom are questions for somebody.
	ofWhom = lazy.Compile(`(?i)^\W*(?:(?:and|so|but|hey|remind me)\W+)*who(?:m|se|['’]s)?\b(?: (?:[^aA]|a[^m]))`)
	// ofHaving are questions whether the user has somebody, or some animal.
	ofHaving = lazy.Compile(`(?i)\b(?:do|did|have) i (?:still |ever )?(?:have|got|own|keep) (?:a|an|any)\b`)
	// ofCase are questions for what is not, or is only wished.
	ofCase = lazy.Compile(`(?i)\b(?:would|could|might|if|wish|want|dream|imagine|suppose|plan|planning|hope)\b`)
)

// third are words for somebody besides.
var third = lazy.Words("he she they him her his them their we us our you somebody someone anybody anyone everybody everyone people family together with whom")

// ofThird reports whether a question is about somebody besides, too.
func ofThird(question string) bool {
	before := ""
	for w := range strings.FieldsFuncSeq(strings.ToLower(question), noLetter) {
		if third.Has(w) || w == "i" && before == "and" || w == "and" && before == "i" {
			return true
		}
		before = w
	}
	return ofWhom.MatchString(question)
}

func noLetter(c rune) bool { return c < 'a' || c > 'z' }

// namesSomebody reports whether a question has a name that may be somebody's: not "a DJ" and not
// "in Oslo".
func namesSomebody(question string) bool {
	for _, name := range text.Names(question) {
		before, _, _ := strings.Cut(question, name)
		switch before = strings.TrimSpace(before); lastWord(before) {
		case "a", "an", "in", "at", "near":
		default:
			return true
		}
	}
	return false
}

// Is reports whether a memory has what is asked for of somebody else, or as a mere case, and
// nothing of it that may be the user's. The answer to such a turn is like it.
func (o *SubjectFilter) Is(m memory.Memory) bool {
	if o == nil {
		return false
	}
	switch {
	case m.Fact != nil && m.Link == nil:
		return o.theirs(m.Fact.Content)
	case m.Turn != nil && m.Turn.Role == memory.RoleUser:
		is := o.theirs(m.Turn.Content)
		if is {
			o.turns[place{m.Turn.Conversation, m.Turn.Index}] = true
		}
		return is
	case m.Turn != nil && m.Turn.Role == memory.RoleAssistant:
		return o.turns[place{m.Turn.Conversation, m.Turn.Index - 1}]
	}
	return false
}

// Beside reports whether a turn stands beside one of which [SubjectFilter.Is] holds: what it has of the
// question it may have from there.
func (o *SubjectFilter) Beside(m memory.Memory) bool {
	if m.Turn == nil {
		return false
	}
	for _, by := range [...]int{-2, -1, 1, 2} {
		if o.turns[place{m.Turn.Conversation, m.Turn.Index + by}] {
			return true
		}
	}
	return false
}

// Aside reports whether a hit, once others' words are left out, has nothing of the question left:
// no word of it in it or beside it, no date that it names, nothing near in meaning, and no other word for it that may be the user's. Among
// few memories such hits come up for want of better.
func (o *SubjectFilter) Aside(h memory.Hit) bool {
	if len(h.Why) == 0 || h.Memory.Summary != nil || h.Why.Get("lexical") > 0 || h.Why.Get("vector") >= likeness(true) ||
		h.Why.Get("cue.date_said")+h.Why.Get("cue.date_meant") > 0 {
		return false
	}
	o.claims = claimsIn(o.claims[:0], h.Memory.Content(), o.asks)
	return !slices.ContainsFunc(o.claims, func(c claim) bool { return c.of != another && (c.asked || c.near) })
}

// longestSaid is how many bytes a text has at most whose clauses are read.
const longestSaid = 2000

// theirs reports whether all clauses of a text that have something of the question are
// somebody else's.
func (o *SubjectFilter) theirs(content string) bool {
	if len(content) > longestSaid {
		return false
	}
	if o.claims = claimsIn(o.claims[:0], content, nil); !slices.ContainsFunc(o.claims, o.isOthers) {
		return false // as most texts
	}
	o.claims = claimsIn(o.claims[:0], content, o.asks)
	found, kept := false, false
	for i := range o.claims {
		c := &o.claims[i]
		switch {
		case !c.asked && !c.near:
		case o.isOthers(*c):
			if o.people && c.own {
				return false
			}
			found = true
		default:
			kept = kept || c.of == users || c.asked
		}
	}
	return found && !kept
}

// isOthers reports whether a clause is somebody else's, or a mere case.
func (o *SubjectFilter) isOthers(c claim) bool { return c.of == another || c.mere && !o.mere }

// asks reports whether a term is the question's, and whether it is another word for one or a
// thing of the kind that is asked for.
func (o *SubjectFilter) asks(term string) (asked, near bool) {
	return o.asked.terms[term], o.asked.related[term] || text.ClassesOf(term)&o.of.classes != 0
}

// ByItself takes away from a turn what the talk around it gives it: where somebody else's words
// are left out, those beside them have nothing of them either.
func ByItself(c *memory.Candidate) {
	c.Found.Lexical, c.Found.Session, c.Found.Reply = min(c.Found.Lexical, c.Found.Own), 0, 0
}
