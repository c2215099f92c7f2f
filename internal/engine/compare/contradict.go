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

// Conflicts returns the owner's active facts that contradict f by the rules of reconciling
// ([learn.Reconcile]): facts with the same single-valued attribute of the same subject, and
// opposite statements. It omits facts that are visible where f is not, since a fact of one project
// says nothing about others. named is the id of one more fact; "" for none.
func (e *Comparer) Conflicts(ctx context.Context, f memory.Fact, named string) ([]memory.Fact, error) {
	var near []extract.Neighbour
	var err error
	if f.Subject != "" || learn.Denied(f.Content) {
		near, err = e.opposed(ctx, f, MostAlike)
	}
	if err != nil { // a person's fact is written even if the comparison fails
		e.Log.Warn("a fact was not compared with facts of the same words", "fact", f.ID, "err", err)
	}
	if near, err = e.sameAttribute(ctx, f, near); err != nil {
		return nil, err
	}
	ids := Contradicted(f, near)
	if named != "" && named != f.ID && !slices.Contains(ids, named) {
		ids = append(ids, named)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := e.Store.Get(ctx, f.Scope.Owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the facts that %s contradicts: %w", f.ID, err)
	}
	var out []memory.Fact
	for _, m := range found {
		if m.Fact != nil && m.Link == nil && m.Fact.Status == memory.Active && m.Fact.Hash != f.Hash && Narrower(m.Fact.Scope, f.Scope) {
			out = append(out, *m.Fact)
		}
	}
	return out, nil
}

// OwnAgainst returns the owner's active facts that contradict a fact shared by another user,
// whichever of the two is the denial. Statements of the other user about themselves count as being
// about that user.
func (e *Comparer) OwnAgainst(ctx context.Context, link memory.Link) ([]memory.Fact, error) {
	f := link.Fact
	f.Scope = memory.Scope{Owner: link.Owner}
	near, err := e.opposed(ctx, f, mostAlikeShared)
	if err != nil {
		return nil, err
	}
	if near, err = e.sameAttribute(ctx, f, near); err != nil {
		return nil, err
	}
	var out []memory.Fact
	for _, n := range near {
		found := slices.ContainsFunc(out, func(o memory.Fact) bool { return o.ID == n.Fact.ID })
		if found || n.Link != nil || n.Fact.Status != memory.Active || n.Fact.Hash == f.Hash {
			continue
		}
		if len(Contradicted(f, []extract.Neighbour{n})) > 0 || len(Contradicted(n.Fact, []extract.Neighbour{{Fact: f}})) > 0 {
			out = append(out, n.Fact)
		}
	}
	return out, nil
}

// sameAttribute appends the facts with the subject and attribute of f, if f has an attribute.
func (e *Comparer) sameAttribute(ctx context.Context, f memory.Fact, near []extract.Neighbour) ([]extract.Neighbour, error) {
	if f.Attribute == "" {
		return near, nil
	}
	err := e.Everything(ctx, f.Scope.Owner, memory.Query{Subject: f.Subject, Attribute: f.Attribute}, func(m memory.Memory) {
		near = append(near, extract.Neighbour{Fact: *m.Fact, Link: m.Link})
	})
	if err != nil {
		return nil, fmt.Errorf("list the facts that %s may contradict: %w", f.ID, err)
	}
	return near, nil
}

// mayContradict reports whether [Comparer.Conflicts] compares a fact at all.
func mayContradict(f memory.Fact) bool {
	return f.Subject != "" || f.Attribute != "" || learn.Denied(f.Content)
}

// PlannedOn returns the base of a run that activates a fact. With it, the second of two concurrent
// contradicting writes is planned again. A fact that is not compared has no base.
func (e *Comparer) PlannedOn(ctx context.Context, f memory.Fact) (int64, error) {
	if !mayContradict(f) {
		return 0, nil
	}
	version, err := e.Version(ctx, f.Scope.Owner)
	return memory.PlannedOn(version), err
}

// Contradicted returns the ids of the facts in near that contradict f.
func Contradicted(f memory.Fact, near []extract.Neighbour) (ids []string) {
	if len(near) == 0 {
		return nil
	}
	c := extract.Candidate{Text: f.Content, Subject: f.Subject, Attribute: f.Attribute}
	for _, n := range near {
		if n.Link == nil && n.Fact.ID != f.ID {
			c.Near = append(c.Near, n)
		}
	}
	for _, d := range learn.Reconcile([]extract.Candidate{c}) {
		if d.Verdict == learn.Update && !slices.Contains(ids, d.Target) {
			ids = append(ids, d.Target)
		}
	}
	return ids
}

// mostAlike bounds how many facts are checked for an opposite statement. Few are needed, since that
// uses the same words. A shared fact needs more, since other shared facts with the same words are
// found too.
const (
	MostAlike       = 3
	mostAlikeShared = 24
)

// opposed returns the facts that share words with f, if either denies or ends something and the
// other does not. Since this needs a search, facts about unknown people without a denial are
// skipped.
func (e *Comparer) opposed(ctx context.Context, f memory.Fact, most int) ([]extract.Neighbour, error) {
	memories, err := core.FindMemories(ctx, e.Core, memory.Search{Scopes: []memory.Scope{f.Scope}, Text: f.Content, ByWords: true, Kinds: []memory.Kind{memory.KindFact}, Limit: most})
	if err != nil {
		return nil, fmt.Errorf("find the facts that %s may contradict: %w", f.ID, err)
	}
	var near []extract.Neighbour
	for _, m := range memories {
		if m.Fact != nil && learn.Denied(m.Fact.Content) != learn.Denied(f.Content) {
			near = append(near, extract.Neighbour{Fact: *m.Fact, Link: m.Link})
		}
	}
	return near, nil
}

// Narrower reports whether everyone who sees scope a also sees scope b.
func Narrower(a, b memory.Scope) bool {
	return a.Owner == b.Owner && (b.Project == "" || a.Project == b.Project) &&
		(b.Agent == "" || a.Agent == b.Agent) && (b.Conversation == "" || a.Conversation == b.Conversation)
}

// Prevail returns the changes by which a person's fact replaces others, and makes it the newest,
// since the person states now that it holds and the others do not. It is pinned if a replaced fact
// was.
func (e *Comparer) Prevail(f *memory.Fact, olds []memory.Fact, reason string, author memory.Author) []memory.Change {
	now := e.Time()
	for _, old := range olds {
		if !f.Newer(&old) {
			f.ObservedAt, f.ObservedSeq = now, 0
		}
		f.Core = cmp.Or(f.Core, old.Core)
	}
	var ends []memory.Change
	for _, old := range olds {
		end := memory.Replace(old, *f, now, reason, author)[0]
		if gone := end.After.Fact; gone.ValidTo.Before(gone.ValidFrom) { // the fact was never valid
			gone.ValidTo = gone.ValidFrom
		}
		ends = append(ends, end)
	}
	return ends
}

// Replacing returns the changes that end replaced facts, followed by change. In this order their
// text is free, and one undo reverts both.
func Replacing(ends []memory.Change, change memory.Change) []memory.Change {
	if len(ends) > 0 {
		change.OldID, change.NewID = ends[0].OldID, ends[0].NewID
	}
	return append(ends, change)
}
