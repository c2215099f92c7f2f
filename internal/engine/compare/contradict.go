package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Conflicts returns the owner's active facts that contradict f by the rules of [learn.Reconcile]: facts with
// the same single-valued attribute of the same subject, and opposite statements. It omits facts that are
// visible where f is not: a fact of one project does not contradict facts of other projects. It also returns
// the fact with the id replacedID, if that id is not empty.
func (e *Comparer) Conflicts(ctx context.Context, f memory.Fact, replacedID string) ([]memory.Fact, error) {
	var neighbors []extract.Neighbor
	var err error
	if f.Subject != "" || learn.IsDenial(f.Content) {
		neighbors, err = e.opposedFacts(ctx, f, MaxOpposed)
	}
	if err != nil { // store a person's fact even if the comparison fails
		e.Log.Warn("a fact was not compared with facts that share its words", "fact", f.ID, "err", err)
	}
	if neighbors, err = e.appendSameAttribute(ctx, f, neighbors); err != nil {
		return nil, err
	}
	ids := ContradictedIDs(f, neighbors)
	if replacedID != "" && replacedID != f.ID && !slices.Contains(ids, replacedID) {
		ids = append(ids, replacedID)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	memories, err := e.Store.Get(ctx, f.Scope.Owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the facts that %s contradicts: %w", f.ID, err)
	}
	var out []memory.Fact
	for _, m := range memories {
		if m.Fact != nil && m.Link == nil && m.Fact.Status == memory.Active && m.Fact.Hash != f.Hash && IsNarrower(m.Fact.Scope, f.Scope) {
			out = append(out, *m.Fact)
		}
	}
	return out, nil
}

// ConflictsWithShared returns the owner's active facts that contradict a fact shared by another user; either
// fact may be the negated one. The other user's statements about themselves count as statements about the
// other user.
func (e *Comparer) ConflictsWithShared(ctx context.Context, link memory.Link) ([]memory.Fact, error) {
	f := link.Fact
	f.Scope = memory.Scope{Owner: link.Owner}
	neighbors, err := e.opposedFacts(ctx, f, maxOpposedShared)
	if err != nil {
		return nil, err
	}
	if neighbors, err = e.appendSameAttribute(ctx, f, neighbors); err != nil {
		return nil, err
	}
	var out []memory.Fact
	for _, n := range neighbors {
		listed := slices.ContainsFunc(out, func(o memory.Fact) bool { return o.ID == n.Fact.ID })
		if listed || n.Link != nil || n.Fact.Status != memory.Active || n.Fact.Hash == f.Hash {
			continue
		}
		if len(ContradictedIDs(f, []extract.Neighbor{n})) > 0 || len(ContradictedIDs(n.Fact, []extract.Neighbor{{Fact: f}})) > 0 {
			out = append(out, n.Fact)
		}
	}
	return out, nil
}

// appendSameAttribute appends to neighbors the facts with the subject and attribute of f, if f has an
// attribute.
func (e *Comparer) appendSameAttribute(ctx context.Context, f memory.Fact, neighbors []extract.Neighbor) ([]extract.Neighbor, error) {
	if f.Attribute == "" {
		return neighbors, nil
	}
	err := e.EachMemory(ctx, f.Scope.Owner, memory.Query{Subject: f.Subject, Attribute: f.Attribute}, func(m memory.Memory) {
		neighbors = append(neighbors, extract.Neighbor{Fact: *m.Fact, Link: m.Link})
	})
	if err != nil {
		return nil, fmt.Errorf("list the facts that %s may contradict: %w", f.ID, err)
	}
	return neighbors, nil
}

// mayContradict reports whether [Comparer.Conflicts] needs to compare a fact.
func mayContradict(f memory.Fact) bool {
	return f.Subject != "" || f.Attribute != "" || learn.IsDenial(f.Content)
}

// RunBaseFor returns the base of a run that activates a fact, or 0 if the fact cannot contradict other facts.
// Of two concurrent runs with contradicting facts, the store refuses the later, which is then planned again.
func (e *Comparer) RunBaseFor(ctx context.Context, f memory.Fact) (int64, error) {
	if !mayContradict(f) {
		return 0, nil
	}
	version, err := e.Version(ctx, f.Scope.Owner)
	return memory.RunBase(version), err
}

// ContradictedIDs returns the ids of the neighbors that contradict f.
func ContradictedIDs(f memory.Fact, neighbors []extract.Neighbor) (ids []string) {
	if len(neighbors) == 0 {
		return nil
	}
	candidate := extract.Candidate{Text: f.Content, Subject: f.Subject, Attribute: f.Attribute}
	for _, n := range neighbors {
		if n.Link == nil && n.Fact.ID != f.ID {
			candidate.Neighbors = append(candidate.Neighbors, n)
		}
	}
	for _, d := range learn.Reconcile([]extract.Candidate{candidate}) {
		if d.Verdict == learn.Update && !slices.Contains(ids, d.TargetID) {
			ids = append(ids, d.TargetID)
		}
	}
	return ids
}

// Numbers of facts that are checked for an opposite statement: few suffice, since opposite statements use
// the same words. A shared fact needs more, since the search also returns other shared facts with the
// same words.
const (
	MaxOpposed       = 3
	maxOpposedShared = 24
)

// opposedFacts returns facts that share words with f, if only one of the two denies or ends something.
func (e *Comparer) opposedFacts(ctx context.Context, f memory.Fact, limit int) ([]extract.Neighbor, error) {
	memories, err := core.FindMemories(ctx, e.Core, memory.Search{Scopes: []memory.Scope{f.Scope}, Text: f.Content, WordsOnly: true, Kinds: []memory.Kind{memory.KindFact}, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("find the facts that %s may contradict: %w", f.ID, err)
	}
	var neighbors []extract.Neighbor
	for _, m := range memories {
		if m.Fact != nil && learn.IsDenial(m.Fact.Content) != learn.IsDenial(f.Content) {
			neighbors = append(neighbors, extract.Neighbor{Fact: *m.Fact, Link: m.Link})
		}
	}
	return neighbors, nil
}

// IsNarrower reports whether wide is visible everywhere that narrow is visible.
func IsNarrower(narrow, wide memory.Scope) bool {
	return narrow.Owner == wide.Owner && (wide.Project == "" || narrow.Project == wide.Project) &&
		(wide.Agent == "" || narrow.Agent == wide.Agent) && (wide.Conversation == "" || narrow.Conversation == wide.Conversation)
}

// ReplacementChanges returns the changes by which a person's fact f replaces others. It makes f the newest,
// since the person stated it last, and pins f if a replaced fact was pinned.
func (e *Comparer) ReplacementChanges(f *memory.Fact, replacedFacts []memory.Fact, reason string, author memory.Author) []memory.Change {
	now := e.Time()
	for _, old := range replacedFacts {
		if !f.Newer(&old) {
			f.ObservedAt, f.ObservedSeq = now, 0
		}
		f.Core = cmp.Or(f.Core, old.Core)
	}
	var replacements []memory.Change
	for _, old := range replacedFacts {
		replacement := memory.Replace(old, *f, now, reason, author)[0]
		if ended := replacement.After.Fact; ended.ValidTo.Before(ended.ValidFrom) { // the fact was never valid
			ended.ValidTo = ended.ValidFrom
		}
		replacements = append(replacements, replacement)
	}
	return replacements
}

// WithReplacements returns the changes that end replaced facts, followed by change. In this order the new
// fact can have the text of a replaced fact, and one undo reverts both.
func WithReplacements(replacements []memory.Change, change memory.Change) []memory.Change {
	if len(replacements) > 0 {
		change.OldID, change.NewID = replacements[0].OldID, replacements[0].NewID
	}
	return append(replacements, change)
}
