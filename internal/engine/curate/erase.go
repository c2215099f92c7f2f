package curate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Erase removes the text of memories permanently; only ids and times remain. It cannot be undone. Use
// withRepetitions to include the memories that repeat the text.
func (e *Curator) Erase(ctx context.Context, owner memory.Owner, runID string, memories []memory.Memory, author memory.Author) (memory.Receipt, error) {
	ids := make([]string, len(memories))
	conversations := map[string]bool{}
	eraseRun := memory.Run{ID: runID, Kind: "erase", Author: author}
	for i, m := range memories {
		ids[i] = m.ID()
		if s := m.Summary; s != nil && s.Status == memory.Active && !conversations[s.Scope.Conversation] {
			conversations[s.Scope.Conversation] = true
			eraseRun.Jobs = append(eraseRun.Jobs, core.SummaryJob(owner, s.Scope.Conversation, runID))
		}
	}
	receipt, err := e.Traces.EraseIDs(ctx, owner, eraseRun, ids)
	if err == nil && len(eraseRun.Jobs) > 0 {
		e.WakeJobRunner()
	}
	return receipt, err
}

// withRepetitions returns memories together with all memories that repeat them, of any status and
// without duplicates:
//
//   - for a fact: its source turns, other turns and summaries that state the fact, and facts with
//     the same text;
//   - for a turn: the facts that were learned only from erased turns, the answers that use one of
//     the turn's words, and all summaries of its conversation, since a summary may repeat the turn
//     in other words.
func (e *Curator) withRepetitions(ctx context.Context, owner memory.Owner, memories []memory.Memory) ([]memory.Memory, error) {
	result := memorySet{ids: map[string]bool{}}
	for _, m := range memories {
		result.add(m)
	}
	var facts []memory.Fact
	sourceTurns, erasedTurns := map[string]bool{}, map[string]bool{} // ids of the facts' source turns, and of the erased turns
	for _, m := range memories {
		switch {
		case m.Turn != nil:
			erasedTurns[m.Turn.ID] = true
		case m.Fact != nil && m.Link == nil && m.Fact.Content != "":
			facts = append(facts, *m.Fact)
			if m.Fact.Source != memory.Extracted {
				continue
			}
			for _, id := range m.Fact.Provenance.Turns {
				sourceTurns[id] = true
			}
			if q := m.Fact.Provenance.Quote; q != nil {
				sourceTurns[q.Turn] = true
			}
		}
	}
	var summaries []memory.Memory
	q := memory.Query{Kinds: allKinds, Statuses: core.AllStatuses}
	err := e.EachMemory(ctx, owner, q, func(m memory.Memory) {
		switch {
		case m.Link != nil || m.Content() == "":
		case m.Fact != nil:
			if LearnedOnlyFrom(*m.Fact, erasedTurns) || slices.ContainsFunc(facts, func(f memory.Fact) bool { return f.Hash == m.Fact.Hash }) {
				result.add(m)
			}
		case sourceTurns[m.ID()] || statesAny(m, facts):
			result.add(m)
		case m.Summary != nil:
			summaries = append(summaries, m)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("find memories that repeat the erased text: %w", err)
	}
	conversations := map[string]bool{}
	for _, m := range slices.Clone(result.memories) {
		if m.Turn == nil || conversations[m.Turn.Conversation] {
			continue
		}
		conversations[m.Turn.Conversation] = true
		if err := e.addRepeatingAnswers(ctx, owner, m.Turn.Conversation, &result); err != nil {
			return nil, err
		}
	}
	for _, s := range summaries {
		if conversations[s.Summary.Scope.Conversation] {
			result.add(s)
		}
	}
	return result.memories, nil
}

// remainingMentions describes profile entries, documents and chats that state an erased fact.
func (e *Curator) remainingMentions(ctx context.Context, owner memory.Owner, erasedMemories []memory.Memory) (mentions []string, err error) {
	var facts []memory.Fact
	for _, m := range erasedMemories {
		if m.Fact != nil && m.Content() != "" {
			facts = append(facts, *m.Fact)
		}
	}
	check := func(place, content string) {
		if content != "" && statesAny(memory.Memory{Summary: &memory.Summary{Text: content}}, facts) {
			mentions = append(mentions, place)
		}
	}
	entries, err := e.ProfileEntries(ctx, owner, memory.At{})
	if err != nil {
		return nil, err
	}
	for _, p := range entries {
		check("the profile entry "+p.Key, p.Key+": "+p.Value)
	}
	contexts, err := e.Store.Contexts(ctx, owner, memory.At{})
	if err != nil {
		return nil, fmt.Errorf("read the documents: %w", err)
	}
	for _, c := range contexts {
		check("the document "+c.ID, c.Title+"\n"+c.Content)
	}
	for c, err := range memory.AllConversations(ctx, e.Store.Conversations, owner, memory.ConversationQuery{}) {
		if err != nil {
			return nil, fmt.Errorf("read the chats: %w", err)
		}
		check("the title or the rules of the chat "+c.ID, strings.TrimSpace(c.Title+"\n"+c.Rules))
	}
	return mentions, nil
}

// addRepeatingAnswers adds to result a conversation's answers to turns in result. An answer is added only if
// it uses one of the turn's words, and therefore repeats the turn.
func (e *Curator) addRepeatingAnswers(ctx context.Context, owner memory.Owner, conversation string, result *memorySet) error {
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: conversation, Statuses: core.AllStatuses})
	if err != nil {
		return fmt.Errorf("read the answers to erased messages: %w", err)
	}
	termsByTurn := map[string][]string{} // terms of each turn, by id
	for _, t := range turns {
		if result.ids[t.ID] {
			termsByTurn[t.ID] = text.Terms(t.Content)
		}
	}
	for _, t := range turns {
		if t.Role == memory.RoleAssistant && slices.ContainsFunc(text.Terms(t.Content), func(w string) bool { return slices.Contains(termsByTurn[t.Parent], w) }) {
			result.add(memory.Memory{Turn: &t})
		}
	}
	return nil
}

// memorySet is a set of memories in order of addition.
type memorySet struct {
	memories []memory.Memory
	ids      map[string]bool
}

func (b *memorySet) add(m memory.Memory) {
	if !b.ids[m.ID()] {
		b.ids[m.ID()] = true
		b.memories = append(b.memories, m)
	}
}

// LearnedOnlyFrom reports whether a fact was learned only from these turns.
func LearnedOnlyFrom(f memory.Fact, turnIDs map[string]bool) bool {
	return f.Source == memory.Extracted && len(f.Provenance.Turns) > 0 &&
		!slices.ContainsFunc(f.Provenance.Turns, func(id string) bool { return !turnIDs[id] })
}

// statesAny reports whether a turn or a summary states one of the facts. It skips facts that share no word
// with the memory, since the full check is slow.
func statesAny(m memory.Memory, facts []memory.Fact) bool {
	if len(facts) == 0 {
		return false
	}
	terms := text.Terms(m.Content())
	return slices.ContainsFunc(facts, func(f memory.Fact) bool {
		return slices.ContainsFunc(text.Terms(f.Content), func(t string) bool { return slices.Contains(terms, t) }) && retrieve.StatesFact(m, f)
	})
}
