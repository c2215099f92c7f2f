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
	HasRememberRequest bool
	ForgetCommands     []extract.ForgetCommand
	OffTheRecord       bool // the user wants this message not to be remembered
}

// MemoryRequestsIn finds the requests in a user's turn. Turns of other roles have no requests.
func MemoryRequestsIn(t memory.Turn) MemoryRequests {
	remember, forget := extract.MemoryCommands([]extract.Utterance{{Turn: t, Text: utterance.ParseMessage(t.Content, t.Foreign).OwnText}})
	return MemoryRequests{
		HasRememberRequest: len(remember) > 0, ForgetCommands: forget,
		OffTheRecord: t.Role == memory.RoleUser && extract.IsOffTheRecord(t.Content),
	}
}

// MustRedact reports whether the message must be redacted. A message that also asks to forget something is
// not redacted, because its facts are learned first and the message is then retired.
func (w MemoryRequests) MustRedact() bool { return w.OffTheRecord && len(w.ForgetCommands) == 0 }

// minMatchShare is the share of a request's terms that a memory must have to match the request.
const minMatchShare = 0.6

// MemoriesToForget returns the memories that a request to forget selects. "Everything" selects all memories;
// otherwise a memory matches if it
//   - has the meaning that the rules find in the request ("I hate dill": "User dislikes dill"),
//   - has the attribute that the request names by an everyday name ("my job"),
//   - has nearly all words of the request, and its names and numbers, or
//   - is a fact whose quote has these words, names and numbers, if each of the fact's turns matches as well.
//
// A request that names a thing or repeats a statement selects a fact only if no other fact matches.
func MemoriesToForget(request extract.ForgetCommand, memories []memory.Memory) []memory.Memory {
	if request.IsEverything {
		return memories
	}
	switch request.ObjectKind {
	case extract.ObjectPerson:
		if !slices.ContainsFunc(memories, func(m memory.Memory) bool { return introducesName(m, request.Object) }) {
			return nil
		}
	case extract.ObjectThing, extract.ObjectStatement:
		return singleMatch(memories, request)
	}
	g := newRequestSubject(request)
	turnTexts := map[string]string{} // content of the matching turns, by id
	selected := make([]bool, len(memories))
	for i, m := range memories {
		if selected[i] = g.selects(m); selected[i] && m.Turn != nil {
			turnTexts[m.Turn.ID] = m.Turn.Content
		}
	}
	var out []memory.Memory
	for i, m := range memories {
		if selected[i] || m.Fact != nil && g.matchesQuote(*m.Fact, turnTexts) {
			out = append(out, m)
		}
	}
	return out
}

// introducesName reports whether a memory says who or what has a name: "my boss Carl".
func introducesName(m memory.Memory, name string) bool {
	if m.Fact == nil && (m.Turn == nil || m.Turn.Role != memory.RoleUser) {
		return false
	}
	who, words := regexp.QuoteMeta(text.Fold(name)), text.Fold(m.Content())
	if m.Fact != nil && regexp.MustCompile(`\b(?:named|called|name is) `+who+`\b`).MatchString(words) {
		return true
	}
	relationForm := regexp.MustCompile(`\b(?:user's|my|our) (?:\w+ )?(\w+) ` + who + `\b`)
	return slices.ContainsFunc(relationForm.FindAllStringSubmatch(words, -1), func(match []string) bool { return text.IsPersonWord(match[1]) })
}

// singleMatch returns the fact that states the request's thing or statement, or nil if several facts match.
func singleMatch(memories []memory.Memory, request extract.ForgetCommand) []memory.Memory {
	statesRequest := valueMatcher(request.Object)
	if request.ObjectKind == extract.ObjectStatement {
		statesRequest = func(fact string) bool { return sameStatement(fact, request.Object) }
	}
	var matches []memory.Memory
	for _, m := range memories {
		if m.Fact != nil && statesRequest(m.Fact.Content) {
			matches = append(matches, m)
		}
	}
	if len(matches) != 1 {
		return nil
	}
	return matches
}

// valueMatcher returns a function that reports whether a fact begins with a thing's value: "The code is 17".
func valueMatcher(thing string) func(fact string) bool {
	form := regexp.MustCompile(`^(?:the |user's )` + regexp.QuoteMeta(text.Fold(thing)) + ` (?:is|are|was|were|has|have|starts?|begins?|ends?|costs?)\b`)
	return func(fact string) bool { return form.MatchString(text.Fold(fact)) }
}

// sameStatement reports whether a fact and a statement have the same polarity and the same terms in the same order.
func sameStatement(fact, statement string) bool {
	statement = english.ToThirdPerson(statement)
	return slices.Equal(text.Terms(fact), text.Terms(statement)) && text.HasNegation(fact) == text.HasNegation(statement) && expressesAversion(fact) == expressesAversion(statement)
}

// requestSubject is the subject of a request to forget, prepared for comparisons with memories.
type requestSubject struct {
	terms           map[string]bool
	mainTerms       map[string]bool     // the request's terms without common terms
	namesAndNumbers []string            // names and numbers, folded
	candidates      []extract.Candidate // the candidates that the rules find in the request
	everyday        *everydayName       // the attribute that the request names by an everyday name
	isAboutUser     bool                // the request is about the user alone
}

func newRequestSubject(request extract.ForgetCommand) requestSubject {
	g := requestSubject{terms: extract.TermSet(english.ToThirdPerson(request.Object)), namesAndNumbers: text.Numbers(request.Object), everyday: everydayNameOf(request.Object)}
	g.mainTerms = withoutCommonTerms(g.terms)
	g.isAboutUser = g.everyday != nil || requestAboutUser.MatchString(request.Object) && !slices.ContainsFunc(text.Words(request.Object), text.IsPersonWord)
	for _, name := range text.Names(request.Object) {
		g.namesAndNumbers = append(g.namesAndNumbers, text.Fold(name))
	}
	g.candidates = extract.CandidatesIn(request.Object, extract.Utterance{Turn: memory.Turn{Role: memory.RoleUser}})
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

// selects reports whether the request selects a memory because of the memory's own words.
func (g requestSubject) selects(m memory.Memory) bool {
	if m.Fact != nil {
		f := *m.Fact
		c := extract.WithClassification(extract.Candidate{Text: f.Content, Subject: f.Subject, Attribute: f.Attribute, Category: f.Category})
		return g.matchesWords(f.Content, f.Attribute+" "+f.Category+" "+f.Subject) || g.matchesCandidate(c)
	}
	if g.matchesWords(m.Content(), "") {
		return true
	}
	if m.Turn == nil || m.Turn.Role != memory.RoleUser {
		return false
	}
	return slices.ContainsFunc(extract.CandidatesIn(m.Turn.Content, extract.Utterance{Turn: *m.Turn}), func(c extract.Candidate) bool { return g.matchesCandidate(extract.WithClassification(c)) })
}

// matchesCandidate reports whether a candidate states the same as a candidate that the rules found in the request, or
// has the request's everyday attribute.
func (g requestSubject) matchesCandidate(c extract.Candidate) bool {
	return g.everyday != nil && g.everyday.matchesCandidate(c) || slices.ContainsFunc(g.candidates, func(r extract.Candidate) bool {
		r = extract.WithClassification(r)
		return text.Hash(r.Text) == text.Hash(c.Text) ||
			r.Attribute != "" && r.Attribute == c.Attribute && r.Subject == c.Subject && expressesAversion(r.Text) == expressesAversion(c.Text) && isAboutKin(r.Text) == isAboutKin(c.Text) &&
				extract.CoveredShare(withoutCommonTerms(extract.TermSet(r.Text)), extract.TermSet(c.Text)) == 1
	})
}

var aversion = lazy.Compile(`\b(?:dislikes?|hates?|detests?|loathes?|not|no longer|never|cannot|can't|doesn't|isn't)\b`)

// expressesAversion reports whether a fact expresses dislike.
func expressesAversion(fact string) bool { return aversion.MatchString(text.Fold(fact)) }

// matchesWords reports whether words of a memory and its classification (attribute, category and subject) contain
// the request's terms. If the request is about the user, sentences about other people do not count.
func (g requestSubject) matchesWords(words, classification string) bool {
	if g.isAboutUser {
		var statesEveryday bool
		if words, statesEveryday = g.sentencesOfUser(words); statesEveryday || words == "" {
			return statesEveryday
		}
	}
	if g.everyday != nil && (g.everyday.needsAttribute || strings.Contains(classification, "'s")) {
		return false
	}
	folded := text.Fold(words)
	for _, e := range g.namesAndNumbers {
		if !strings.Contains(folded, e) {
			return false
		}
	}
	content := addTerms(extract.TermSet(words), extract.TermSet(classification))
	return extract.CoveredShare(g.terms, content) >= minMatchShare && extract.CoveredShare(g.mainTerms, content) >= minMatchShare
}

// sentencesOfUser returns the sentences that are not about people close to the user. If one of the sentences states
// the everyday attribute, it returns "" and true.
func (g requestSubject) sentencesOfUser(words string) (rest string, statesEveryday bool) {
	var sentences []string
	for _, s := range text.Sentences(words) {
		sentence := s.Slice(words)
		if isAboutKin(sentence) || g.everyday != nil && isAboutOthers(sentence) {
			continue
		}
		if g.everyday != nil && g.everyday.matchesSentence(sentence) {
			return "", true
		}
		sentences = append(sentences, sentence)
	}
	return strings.Join(sentences, " "), false
}

func addTerms(set, added map[string]bool) map[string]bool {
	for t := range added {
		set[t] = true
	}
	return set
}

// matchesQuote reports whether the request matches a fact's quote and every turn of the fact.
func (g requestSubject) matchesQuote(f memory.Fact, turnTexts map[string]string) bool {
	q := f.Provenance.Quote
	if f.Source != memory.Extracted || q == nil {
		return false
	}
	for _, id := range f.Provenance.Turns {
		if _, ok := turnTexts[id]; !ok {
			return false
		}
	}
	message, ok := turnTexts[q.Turn]
	return ok && q.Start >= 0 && q.Start < q.End && q.End <= len(message) && g.matchesWords(message[q.Start:q.End], "")
}
