package learn

import (
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// Wishes is what a user's message asks of memory itself.
type Wishes struct {
	Remember     bool
	Forget       []extract.Command
	OffTheRecord bool // the message is not to be remembered
}

// WishesIn reads a turn; only the user wishes something.
func WishesIn(t memory.Turn) Wishes {
	remember, forget := extract.Commands([]extract.Utterance{{Turn: t, Text: utterance.Read(t.Content, t.Foreign).Own}})
	return Wishes{
		Remember: len(remember) > 0, Forget: forget,
		OffTheRecord: t.Role == memory.RoleUser && extract.OffTheRecord(t.Content),
	}
}

// Confidential reports whether a message is redacted. One that asks to forget something known is learned from first,
// and retired then.
func (w Wishes) Confidential() bool { return w.OffTheRecord && len(w.Forget) == 0 }

// enough is which part of the terms of a wish a memory has that it is about.
const enough = 0.6

// Meant returns those of the found memories that a wish to forget is about. A wish
// for everything means all. Otherwise a memory is meant that
//   - says what the rules read in the wish ("I hate dill": "User dislikes dill"),
//   - is of the attribute that the wish calls by an everyday name ("my job"),
//   - has as good as all words of the wish, and its names and numbers, or
//   - is a fact whose quoted words have them, if each turn that it was learned from
//     is meant as well.
//
// Where the wish names a thing or repeats a statement without a word of memory, it means
// the one fact that says what the thing is, or the same; with several none is meant.
func Meant(wish extract.Command, found []memory.Memory) []memory.Memory {
	if wish.All {
		return found
	}
	switch wish.Of {
	case extract.NamesSomebody:
		if !slices.ContainsFunc(found, func(m memory.Memory) bool { return introduces(m, wish.What) }) {
			return nil
		}
	case extract.NamesThing, extract.NamesStatement:
		return theOne(found, wish)
	}
	g := gistOf(wish)
	turns := map[string]string{} // content of the turns that are meant, by id
	meant := make([]bool, len(found))
	for i, m := range found {
		if meant[i] = g.at(m); meant[i] && m.Turn != nil {
			turns[m.Turn.ID] = m.Turn.Content
		}
	}
	var out []memory.Memory
	for i, m := range found {
		if meant[i] || m.Fact != nil && g.quotedIn(*m.Fact, turns) {
			out = append(out, m)
		}
	}
	return out
}

// introduces reports whether a memory says of a name whose it is: a fact that
// somebody or something is called so, or "my boss Carl".
func introduces(m memory.Memory, name string) bool {
	if m.Fact == nil && (m.Turn == nil || m.Turn.Role != memory.RoleUser) {
		return false
	}
	who, words := regexp.QuoteMeta(text.Fold(name)), text.Fold(m.Content())
	if m.Fact != nil && regexp.MustCompile(`\b(?:named|called|name is) `+who+`\b`).MatchString(words) {
		return true
	}
	of := regexp.MustCompile(`\b(?:user's|my|our) (?:\w+ )?(\w+) ` + who + `\b`)
	return slices.ContainsFunc(of.FindAllStringSubmatch(words, -1), func(found []string) bool { return text.IsPersonWord(found[1]) })
}

// theOne returns the only fact among the found that says what a wish names.
func theOne(found []memory.Memory, wish extract.Command) []memory.Memory {
	says := saysWhatIs(wish.What)
	if wish.Of == extract.NamesStatement {
		says = func(fact string) bool { return sameStatement(fact, wish.What) }
	}
	var one []memory.Memory
	for _, m := range found {
		if m.Fact != nil && says(m.Fact.Content) {
			one = append(one, m)
		}
	}
	if len(one) != 1 {
		return nil
	}
	return one
}

// saysWhatIs returns whether a fact begins with what a thing is: "The door code is 17".
func saysWhatIs(thing string) func(fact string) bool {
	form := regexp.MustCompile(`^(?:the |user's )` + regexp.QuoteMeta(text.Fold(thing)) + ` (?:is|are|was|were|has|have|starts?|begins?|ends?|costs?)\b`)
	return func(fact string) bool { return form.MatchString(text.Fold(fact)) }
}

// sameStatement reports whether a fact and a statement have the same terms in the same
// order, and both deny or neither does.
func sameStatement(fact, said string) bool {
	said = english.ThirdPerson(said)
	return slices.Equal(text.Terms(fact), text.Terms(said)) && text.Negated(fact) == text.Negated(said) && averse(fact) == averse(said)
}

// gist is what a wish to forget is about.
type gist struct {
	terms   map[string]bool
	weighty map[string]bool     // less those that two facts may differ in
	exact   []string            // names and numbers, folded
	reads   []extract.Candidate // what the rules read in it
	daily   *everyday           // the attribute that it calls by its everyday name
	own     bool                // it is about the user, and nobody else
}

func gistOf(wish extract.Command) gist {
	g := gist{terms: extract.TermSet(english.ThirdPerson(wish.What)), exact: text.Numbers(wish.What), daily: everydayOf(wish.What)}
	g.weighty = weighty(g.terms)
	g.own = g.daily != nil || ownWish.MatchString(wish.What) && !slices.ContainsFunc(text.Words(wish.What), text.IsPersonWord)
	for _, name := range text.Names(wish.What) {
		g.exact = append(g.exact, text.Fold(name))
	}
	g.reads = extract.ReadPlain(wish.What, extract.Utterance{Turn: memory.Turn{Role: memory.RoleUser}})
	return g
}

// ownWish begins a wish about the user's own.
var ownWish = lazy.Compile(`(?i)^(?:i|i['’](?:m|ve|d)|my)\b`)

func weighty(terms map[string]bool) map[string]bool {
	out := map[string]bool{}
	for t := range terms {
		if !common.Has(t) && !feelings.Has(t) {
			out[t] = true
		}
	}
	if len(out) == 0 {
		return terms
	}
	return out
}

// feelings are terms of verbs that attribute and sign tell as well.
var feelings = lazy.SetOf("like love enjoy adore hate dislike detest loathe stand", extract.TermSet)

// at reports whether a memory is meant by what it says itself.
func (g gist) at(m memory.Memory) bool {
	if m.Fact != nil {
		f := *m.Fact
		c := extract.Classified(extract.Candidate{Text: f.Content, Subject: f.Subject, Attribute: f.Attribute, Category: f.Category})
		return g.named(f.Content, f.Attribute+" "+f.Category+" "+f.Subject) || g.states(c)
	}
	if g.named(m.Content(), "") {
		return true
	}
	if m.Turn == nil || m.Turn.Role != memory.RoleUser {
		return false
	}
	return slices.ContainsFunc(extract.ReadPlain(m.Turn.Content, extract.Utterance{Turn: *m.Turn}), func(c extract.Candidate) bool { return g.states(extract.Classified(c)) })
}

// states reports whether a statement is one that the wish reads as, or of the
// attribute that it names.
func (g gist) states(c extract.Candidate) bool {
	return g.daily != nil && g.daily.has(c) || slices.ContainsFunc(g.reads, func(r extract.Candidate) bool {
		r = extract.Classified(r)
		return text.Hash(r.Text) == text.Hash(c.Text) ||
			r.Attribute != "" && r.Attribute == c.Attribute && r.Subject == c.Subject && averse(r.Text) == averse(c.Text) && ofKin(r.Text) == ofKin(c.Text) &&
				extract.Covered(weighty(extract.TermSet(r.Text)), extract.TermSet(c.Text)) == 1
	})
}

var aversion = lazy.Compile(`\b(?:dislikes?|hates?|detests?|loathes?|not|no longer|never|cannot|can't|doesn't|isn't)\b`)

// averse reports whether a fact is against what it is about.
func averse(fact string) bool { return aversion.MatchString(text.Fold(fact)) }

// named reports whether words, with others that classify them, have what the wish
// names. To a wish about the user what is said of their people does not count.
func (g gist) named(words, classes string) bool {
	if g.own {
		var told bool
		if words, told = g.ofUser(words); told || words == "" {
			return told
		}
	}
	if g.daily != nil && (g.daily.only || strings.Contains(classes, "'s")) {
		return false
	}
	folded := text.Fold(words)
	for _, e := range g.exact {
		if !strings.Contains(folded, e) {
			return false
		}
	}
	content := union(extract.TermSet(words), extract.TermSet(classes))
	return extract.Covered(g.terms, content) >= enough && extract.Covered(g.weighty, content) >= enough
}

// ofUser returns the sentences that are not about people of the user's, and reports
// whether one of them tells what the wish calls by its everyday name.
func (g gist) ofUser(words string) (rest string, told bool) {
	var own []string
	for _, s := range text.Sentences(words) {
		sentence := s.Of(words)
		if ofKin(sentence) || g.daily != nil && ofOthers(sentence) {
			continue
		}
		if g.daily != nil && g.daily.says(sentence) {
			return "", true
		}
		own = append(own, sentence)
	}
	return strings.Join(own, " "), false
}

func union(a, b map[string]bool) map[string]bool {
	for t := range b {
		a[t] = true
	}
	return a
}

// quotedIn reports whether the words that a fact rests on are meant, and no turn
// speaks for it that is not.
func (g gist) quotedIn(f memory.Fact, turns map[string]string) bool {
	q := f.Provenance.Quote
	if f.Source != memory.Extracted || q == nil {
		return false
	}
	for _, id := range f.Provenance.Turns {
		if _, ok := turns[id]; !ok {
			return false
		}
	}
	said, ok := turns[q.Turn]
	return ok && q.Start >= 0 && q.Start < q.End && q.End <= len(said) && g.named(said[q.Start:q.End], "")
}
