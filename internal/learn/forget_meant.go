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

// MemoryRequests are the requests about memory in a user's message.
type MemoryRequests struct {
	Remember     bool
	Forget       []extract.Command
	OffTheRecord bool // the user wants this message not to be remembered
}

// MemoryRequestsIn finds the requests in a user's turn. Turns of other roles have no requests.
func MemoryRequestsIn(t memory.Turn) MemoryRequests {
	remember, forget := extract.Commands([]extract.Utterance{{Turn: t, Text: utterance.Read(t.Content, t.Foreign).Own}})
	return MemoryRequests{
		Remember: len(remember) > 0, Forget: forget,
		OffTheRecord: t.Role == memory.RoleUser && extract.OffTheRecord(t.Content),
	}
}

// Confidential reports whether the message must be redacted. A message that also asks to forget something is
// not redacted, because its facts are learned first and the message is then retired.
func (w MemoryRequests) Confidential() bool { return w.OffTheRecord && len(w.Forget) == 0 }

// minMatchShare is the share of a request's terms that a memory must have to match the request.
const minMatchShare = 0.6

// MemoriesToForget returns the memories that a request to forget selects. "Everything" selects all memories;
// otherwise a memory matches if it
//   - has the meaning that the rules find in the request ("I hate dill": "User dislikes dill"),
//   - has the attribute that the request names by an everyday name ("my job"),
//   - has nearly all words of the request, and its names and numbers, or
//   - is a fact whose quote has these words, names and numbers, if each of the fact's turns matches as well.
//
// A request that names a thing or repeats a statement selects a fact only if it is the only match.
func MemoriesToForget(wish extract.Command, found []memory.Memory) []memory.Memory {
	if wish.All {
		return found
	}
	switch wish.Of {
	case extract.NamesSomebody:
		if !slices.ContainsFunc(found, func(m memory.Memory) bool { return introduces(m, wish.What) }) {
			return nil
		}
	case extract.NamesThing, extract.NamesStatement:
		return onlyMatch(found, wish)
	}
	g := requestSubjectOf(wish)
	turns := map[string]string{} // content of the matching turns, by id
	meant := make([]bool, len(found))
	for i, m := range found {
		if meant[i] = g.means(m); meant[i] && m.Turn != nil {
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

// introduces reports whether a memory says who or what has a name: "my boss Carl".
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

// onlyMatch returns the fact that states the request's thing or statement, or nil if several facts match.
func onlyMatch(found []memory.Memory, wish extract.Command) []memory.Memory {
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

// saysWhatIs returns a function that reports whether a fact begins with a thing's value: "The code is 17".
func saysWhatIs(thing string) func(fact string) bool {
	form := regexp.MustCompile(`^(?:the |user's )` + regexp.QuoteMeta(text.Fold(thing)) + ` (?:is|are|was|were|has|have|starts?|begins?|ends?|costs?)\b`)
	return func(fact string) bool { return form.MatchString(text.Fold(fact)) }
}

// sameStatement reports whether a fact and a statement have the same polarity and the same terms in the same order.
func sameStatement(fact, statement string) bool {
	statement = english.ThirdPerson(statement)
	return slices.Equal(text.Terms(fact), text.Terms(statement)) && text.Negated(fact) == text.Negated(statement) && isAverse(fact) == isAverse(statement)
}

// requestSubject is the subject of a request to forget, prepared for comparisons with memories.
type requestSubject struct {
	terms           map[string]bool
	mainTerms       map[string]bool     // the request's terms without common terms
	namesAndNumbers []string            // names and numbers, folded
	readings        []extract.Candidate // the candidates that the rules find in the request
	everyday        *everydayName       // the attribute that the request names by an everyday name
	aboutUser       bool                // the request is about the user alone
}

func requestSubjectOf(wish extract.Command) requestSubject {
	g := requestSubject{terms: extract.TermSet(english.ThirdPerson(wish.What)), namesAndNumbers: text.Numbers(wish.What), everyday: everydayNameOf(wish.What)}
	g.mainTerms = withoutCommonTerms(g.terms)
	g.aboutUser = g.everyday != nil || requestAboutUser.MatchString(wish.What) && !slices.ContainsFunc(text.Words(wish.What), text.IsPersonWord)
	for _, name := range text.Names(wish.What) {
		g.namesAndNumbers = append(g.namesAndNumbers, text.Fold(name))
	}
	g.readings = extract.ReadPlain(wish.What, extract.Utterance{Turn: memory.Turn{Role: memory.RoleUser}})
	return g
}

// requestAboutUser matches the beginning of a request about the user.
var requestAboutUser = lazy.Compile(`(?i)^(?:i|i['’](?:m|ve|d)|my)\b`)

func withoutCommonTerms(terms map[string]bool) map[string]bool {
	out := map[string]bool{}
	for t := range terms {
		if !commonTerms.Has(t) && !feelingTerms.Has(t) {
			out[t] = true
		}
	}
	if len(out) == 0 {
		return terms
	}
	return out
}

// feelingTerms are terms of verbs of liking, whose meaning the attribute and polarity already express.
var feelingTerms = lazy.SetOf("like love enjoy adore hate dislike detest loathe stand", extract.TermSet)

// means reports whether the request selects a memory because of the memory's own words.
func (g requestSubject) means(m memory.Memory) bool {
	if m.Fact != nil {
		f := *m.Fact
		c := extract.Classified(extract.Candidate{Text: f.Content, Subject: f.Subject, Attribute: f.Attribute, Category: f.Category})
		return g.matches(f.Content, f.Attribute+" "+f.Category+" "+f.Subject) || g.states(c)
	}
	if g.matches(m.Content(), "") {
		return true
	}
	if m.Turn == nil || m.Turn.Role != memory.RoleUser {
		return false
	}
	return slices.ContainsFunc(extract.ReadPlain(m.Turn.Content, extract.Utterance{Turn: *m.Turn}), func(c extract.Candidate) bool { return g.states(extract.Classified(c)) })
}

// states reports whether a candidate states the same as a candidate that the rules found in the request, or
// has the request's everyday attribute.
func (g requestSubject) states(c extract.Candidate) bool {
	return g.everyday != nil && g.everyday.has(c) || slices.ContainsFunc(g.readings, func(r extract.Candidate) bool {
		r = extract.Classified(r)
		return text.Hash(r.Text) == text.Hash(c.Text) ||
			r.Attribute != "" && r.Attribute == c.Attribute && r.Subject == c.Subject && isAverse(r.Text) == isAverse(c.Text) && isAboutKin(r.Text) == isAboutKin(c.Text) &&
				extract.Covered(withoutCommonTerms(extract.TermSet(r.Text)), extract.TermSet(c.Text)) == 1
	})
}

var aversion = lazy.Compile(`\b(?:dislikes?|hates?|detests?|loathes?|not|no longer|never|cannot|can't|doesn't|isn't)\b`)

// isAverse reports whether a fact expresses dislike.
func isAverse(fact string) bool { return aversion.MatchString(text.Fold(fact)) }

// matches reports whether a memory's words and its class words contain the request's terms. If the request is
// about the user, sentences about other people do not count.
func (g requestSubject) matches(words, classes string) bool {
	if g.aboutUser {
		var names bool
		if words, names = g.sentencesOfUser(words); names || words == "" {
			return names
		}
	}
	if g.everyday != nil && (g.everyday.only || strings.Contains(classes, "'s")) {
		return false
	}
	folded := text.Fold(words)
	for _, e := range g.namesAndNumbers {
		if !strings.Contains(folded, e) {
			return false
		}
	}
	content := union(extract.TermSet(words), extract.TermSet(classes))
	return extract.Covered(g.terms, content) >= minMatchShare && extract.Covered(g.mainTerms, content) >= minMatchShare
}

// sentencesOfUser returns the sentences that are not about people close to the user. names reports whether
// such a sentence states the everyday attribute.
func (g requestSubject) sentencesOfUser(words string) (rest string, names bool) {
	var own []string
	for _, s := range text.Sentences(words) {
		sentence := s.Of(words)
		if isAboutKin(sentence) || g.everyday != nil && isAboutOthers(sentence) {
			continue
		}
		if g.everyday != nil && g.everyday.says(sentence) {
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

// quotedIn reports whether the request matches a fact's quote and every turn of the fact.
func (g requestSubject) quotedIn(f memory.Fact, turns map[string]string) bool {
	q := f.Provenance.Quote
	if f.Source != memory.Extracted || q == nil {
		return false
	}
	for _, id := range f.Provenance.Turns {
		if _, ok := turns[id]; !ok {
			return false
		}
	}
	message, ok := turns[q.Turn]
	return ok && q.Start >= 0 && q.Start < q.End && q.End <= len(message) && g.matches(message[q.Start:q.End], "")
}
