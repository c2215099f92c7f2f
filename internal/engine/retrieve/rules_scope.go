package retrieve

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/memory"
)

const (
	// userConversation is the conversation whose facts are the user's own: each other
	// one is shown what was said and learned there, too.
	userConversation = "global"

	// unnamedConversation is where a chat belongs that names none, while conversations
	// are apart.
	UnnamedConversation = "default"
)

// Apart reports whether conversations keep what they teach to themselves.
func (e *Retriever) Apart() bool { return e.Opts.Learn.Scope == core.OfConversation }

// LearnsFor returns what facts learned in a conversation belong to, as the conversation
// of their scope: "" for the user.
func (e *Retriever) LearnsFor(conversation string) string {
	if !e.Apart() || conversation == userConversation {
		return ""
	}
	return conversation
}

// Compares returns the scope to search for what is compared with a statement of scope:
// while conversations are apart, that of the user does not reach into them.
func (e *Retriever) Compares(scope memory.Scope) memory.Scope {
	if e.Apart() && scope.Conversation == "" {
		scope.Conversation = userConversation
	}
	return scope
}

// Comparable reports whether a statement of scope is compared with a memory, which scope
// sees: while conversations are apart, none changes what others are shown; and what
// another user shares says nothing of this one while it waits, was hidden, or is about
// themselves.
func (e *Retriever) Comparable(scope memory.Scope, m memory.Memory) bool {
	if m.Link != nil && m.Link.Status != memory.Active {
		return false
	}
	return !share.TellsOfHome(m) && (!e.Apart() || m.Scope().Conversation == scope.Conversation)
}

// searchApart searches what the question's conversation said and taught, and as much of what
// is the user's own and what their own conversation said.
func (r *Recalling) searchApart(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	own, facts, turns := s, s, s
	own.Conversation = r.Q.Scope.Conversation
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
		more, err := r.E.Searcher.Search(ctx, one.Search)
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
