package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Belonging is what a learned fact belongs to, and so who is shown it.
type Belonging string

// What facts belong to.
const (
	OfUser         Belonging = "user"         // to the user, or to the chat's project where they are about that
	OfProject      Belonging = "project"      // to the chat's project, to the user where it has none
	OfConversation Belonging = "conversation" // to the conversation that taught it (design 4)
)

const (
	// userConversation is the conversation whose facts are the user's own: each other
	// one is shown what was said and learned there, too.
	userConversation = "global"

	// unnamedConversation is where a chat belongs that names none, while conversations
	// are apart.
	unnamedConversation = "default"
)

// apart reports whether conversations keep what they teach to themselves.
func (e *Engine) apart() bool { return e.opts.Learn.Scope == OfConversation }

// learnsFor returns what facts learned in a conversation belong to, as the conversation
// of their scope: "" for the user.
func (e *Engine) learnsFor(conversation string) string {
	if !e.apart() || conversation == userConversation {
		return ""
	}
	return conversation
}

// givePlace says of each candidate of a lesson in a project whether it belongs to that project.
func (e *Engine) givePlace(l *lesson) {
	if l.scope.Project == "" || l.scope.Conversation != "" || e.opts.Learn.Scope == OfProject {
		return
	}
	for i := range l.cands {
		c := &l.cands[i]
		quote := c.Quote
		if c.Span != nil {
			quote = l.turn(c.Span.Turn).Content[c.Span.Start:c.Span.End]
		}
		c.Everywhere = !learn.OfProject(*c, quote)
	}
}

// compares returns the scope to search for what is compared with a statement of scope:
// while conversations are apart, that of the user does not reach into them.
func (e *Engine) compares(scope memory.Scope) memory.Scope {
	if e.apart() && scope.Conversation == "" {
		scope.Conversation = userConversation
	}
	return scope
}

// comparable reports whether a statement of scope is compared with a memory, which scope
// sees: while conversations are apart, none changes what others are shown; and what
// another user shares says nothing of this one while it waits, was hidden, or is about
// themselves.
func (e *Engine) comparable(scope memory.Scope, m memory.Memory) bool {
	if m.Link != nil && m.Link.Status != memory.Active {
		return false
	}
	return !tellsOfHome(m) && (!e.apart() || m.Scope().Conversation == scope.Conversation)
}

// named returns the conversation that a chat names, "" if it is to be found by its
// messages.
func (x *Exchange) named() string {
	switch {
	case x.in.Extras.ID != "":
		return x.in.Extras.ID
	case x.in.ChatID != "":
		return x.in.ChatID
	case !x.e.apart():
		return x.unknown()
	}
	return unnamedConversation
}

// scope is what a chat may be shown.
func (x *Exchange) scope() memory.Scope {
	s := memory.Scope{Owner: x.in.Owner, Project: x.in.Extras.Project}
	if x.e.apart() {
		s.Conversation = x.named()
	}
	return s
}

// searchApart searches what the question's conversation said and taught, and as much of what
// is the user's own and what their own conversation said.
func (r *recalling) searchApart(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	own, facts, turns := s, s, s
	own.Conversation = r.q.Scope.Conversation
	facts.Kinds = among(s.Kinds, memory.KindFact, memory.KindSummary)
	facts.Scopes = slices.Clone(s.Scopes)
	for i := range facts.Scopes {
		facts.Scopes[i].Conversation = userConversation
	}
	turns.Kinds, turns.Conversation = among(s.Kinds, memory.KindTurn), userConversation
	var found, users []memory.Candidate
	for _, one := range []struct {
		memory.Search
		into *[]memory.Candidate
	}{{own, &found}, {facts, &users}, {turns, &users}} {
		if len(s.Kinds) > 0 && len(one.Kinds) == 0 {
			continue
		}
		more, err := r.e.Searcher.Search(ctx, one.Search)
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			if !slices.ContainsFunc(found, func(k memory.Candidate) bool { return k.ID == c.ID }) {
				*one.into = append(*one.into, c)
			}
		}
	}
	slices.SortStableFunc(users, func(a, b memory.Candidate) int { return cmp.Compare(nearness(b, s), nearness(a, s)) })
	return append(found, users[:min(s.Limit, len(users))]...), nil
}

// nearness is what a search found a candidate for.
func nearness(c memory.Candidate, s memory.Search) float64 {
	if s.ByVector {
		return float64(c.Found.Vector)
	}
	return c.Score
}

// among returns those of these kinds that are wanted; all are wanted where none is named.
func among(wanted []memory.Kind, kinds ...memory.Kind) []memory.Kind {
	return slices.DeleteFunc(kinds, func(k memory.Kind) bool { return len(wanted) > 0 && !slices.Contains(wanted, k) })
}
