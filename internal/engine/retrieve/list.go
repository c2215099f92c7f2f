package retrieve

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// MaxListed is the number of facts that are read to answer "what do you know about me?".
const MaxListed = 500

// recallRulesApply reports whether the rules of recall apply: the question is about the present and searches
// facts.
func (r *Source) recallRulesApply() bool {
	return r.Question.At == (memory.At{}) && (len(r.Question.Kinds) == 0 || slices.Contains(r.Question.Kinds, memory.KindFact))
}

// listFacts answers a request to list memory with facts, most important first.
func (r *Pipeline) listFacts(ctx context.Context, topK int) error {
	r.waitForChatState()
	q := r.filterQuery()
	q.Limit = MaxListed
	page, err := r.Retriever.Store.List(ctx, r.Question.Scope.Owner, q)
	if err != nil {
		return fmt.Errorf("list facts: %w", err)
	}
	memories := page.Memories
	if page.Next != "" { // the page may lack facts about the user's identity, since they may be old
		identity, err := r.identityFacts(ctx, q)
		if err != nil {
			return err
		}
		memories = append(memories, identity...)
	}
	seen := map[string]bool{}
	var visible []memory.Memory
	for _, m := range memories {
		if seen[m.ID()] {
			continue
		}
		seen[m.ID()] = true
		if m.Visible(r.Now) && r.Question.Scope.Sees(m.Scope()) && !r.Question.ExcludeIDs[m.ID()] {
			visible = append(visible, m)
		}
	}
	r.FoundCount = len(visible)
	r.fitToBudget(ctx, recall.HitsByImportance(visible, r.Now), topK)
	return nil
}

// identityFacts lists the facts about the user's identity, of any age.
func (r *Source) identityFacts(ctx context.Context, q memory.Query) ([]memory.Memory, error) {
	var facts []memory.Memory
	q.Subject = "user"
	for _, q.Attribute = range recall.IdentityAttributes {
		page, err := r.Retriever.Store.List(ctx, r.Question.Scope.Owner, q)
		if err != nil {
			return nil, fmt.Errorf("list facts about the user's identity: %w", err)
		}
		facts = append(facts, page.Memories...)
	}
	return facts, nil
}

// searchPast searches all memory as of the question's time.
func (r *Source) searchPast(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	items, err := r.Retriever.indexItemsAt(ctx, r.Question.Scope.Owner, r.Question.At)
	if err != nil {
		return nil, fmt.Errorf("read past memory: %w", err)
	}
	r.pastMemories = make(map[string]memory.Memory, len(items))
	for _, item := range items {
		r.pastMemories[item.ID] = item.Memory
	}
	return index.Build(items).Search(ctx, s)
}

// indexItemsAt reads all of an owner's memory as of a time, in the form that the index loads.
func (e *Retriever) indexItemsAt(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.IndexItem, error) {
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, At: at}
	var items []memory.IndexItem
	for m, err := range memory.AllMemories(ctx, e.Store.List, owner, q) {
		if err != nil {
			return nil, err
		}
		if m.Turn != nil && m.Turn.Content == "" {
			continue
		}
		item := memory.IndexItem{Memory: m, ID: m.ID()}
		if core.IsLexical(e.Embedder) { // model vectors are too slow to compute here
			vectors, err := e.TextVectors(ctx, m.ID(), m.Content())
			if err != nil {
				return nil, err
			}
			item.Vector = vectors[0].Values
		}
		items = append(items, item)
	}
	slices.Reverse(items) // oldest first, the order of versions
	return items, nil
}

// maxSourceTurns bounds the source turns of a replaced fact, including turns that repeat the fact.
const maxSourceTurns = 16

// AddRepeatingAnswers adds to the provenance of each replaced fact the assistant's answers that repeat it, so
// that recall shows such an answer only with the replacement. It returns the ids of these answers, which must
// be recorded as learned from, since recall looks up replacements only for such turns. It returns nil if
// learning reads all answers. A failed search is logged and skipped.
func (e *Retriever) AddRepeatingAnswers(ctx context.Context, changes []memory.Change) (answerIDs []string) {
	for i := range changes {
		replaced := changes[i].After.Fact
		if changes[i].Action != memory.ActionReplace || replaced == nil {
			continue
		}
		repeating, err := e.TurnsStating(ctx, *replaced)
		if err != nil {
			e.Log.Warn("cannot find answers that repeat a replaced fact", "fact", replaced.ID, "err", err)
			continue
		}
		next := *replaced
		next.Provenance.Turns = slices.Clone(replaced.Provenance.Turns)
		for _, m := range repeating {
			if t := m.Turn; t != nil && t.Role == memory.RoleAssistant && len(next.Provenance.Turns) < maxSourceTurns && !slices.Contains(next.Provenance.Turns, t.ID) {
				next.Provenance.Turns = append(next.Provenance.Turns, t.ID)
				if !e.Opts.LearnFromAssistant {
					answerIDs = append(answerIDs, t.ID)
				}
			}
		}
		changes[i].After.Fact = &next
	}
	return answerIDs
}

// maxStatements bounds the turns that are checked for a statement of a fact.
const maxStatements = 30

// TurnsStating returns the turns and summaries that state a fact, including turns from which nothing
// was learned: turns from a pause of learning, imports, answers.
func (e *Retriever) TurnsStating(ctx context.Context, f memory.Fact) ([]memory.Memory, error) {
	turns, err := e.SimilarTurns(ctx, memory.Scope{Owner: f.Scope.Owner}, f.Content, maxStatements)
	return slices.DeleteFunc(turns, func(m memory.Memory) bool { return !StatesFact(m, f) }), err
}

// SimilarTurns returns the turns and summaries of a scope that are most similar to a text.
func (e *Retriever) SimilarTurns(ctx context.Context, scope memory.Scope, content string, limit int) ([]memory.Memory, error) {
	vector, err := e.VectorToCompare(ctx, content)
	if err != nil {
		return nil, err
	}
	return core.FindMemories(ctx, e.Core, memory.Search{Scopes: []memory.Scope{scope}, Text: content, Vector: vector, Kinds: []memory.Kind{memory.KindTurn, memory.KindSummary}, Limit: limit})
}

// StatesFact reports whether a turn or a summary states a fact or asks to forget it.
func StatesFact(m memory.Memory, f memory.Fact) bool {
	if t := m.Turn; t != nil && t.Role == memory.RoleUser {
		utterance := extract.Utterance{Turn: *t, Text: t.Content}
		return learn.StatesFact(utterance, f.Content) || slices.ContainsFunc(learn.MemoryRequestsIn(*t).ForgetCommands, func(w extract.ForgetCommand) bool {
			return !w.IsEverything && len(learn.MemoriesToForget(w, []memory.Memory{{Fact: &f}})) > 0
		})
	}
	return len(learn.MemoriesToForget(extract.ForgetCommand{Object: f.Content}, []memory.Memory{m})) > 0
}

// GetAt returns a memory as of a time, or [memory.NotFound] if the memory did not exist at that time or,
// for a fact, was not valid.
func (e *Retriever) GetAt(ctx context.Context, owner memory.Owner, id string, at memory.At) (memory.Memory, error) {
	m, err := e.Get(ctx, owner, id)
	if err != nil || at == (memory.At{}) {
		return m, err
	}
	page, err := e.List(ctx, owner, memory.Query{Kinds: []memory.Kind{m.Kind()}, Statuses: core.AllStatuses, At: at, IDPrefix: id})
	if err != nil {
		return memory.Memory{}, err
	}
	for _, m := range page.Memories {
		if m.ID() == id {
			return m, nil
		}
	}
	return memory.Memory{}, memory.Errorf(memory.NotFound, "there was no memory %q at that time", core.Clip(id, 60))
}
