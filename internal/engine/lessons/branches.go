package lessons

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// followBranch updates facts after turns left or rejoined a chat's current branch. It retires facts learned
// from an edited message or a regenerated answer and restores the facts that they replaced; if the turn
// returns, its facts return. Facts remain if they have other source turns, if a person decided about them, or
// if they were learned after the edit. Turns that left are processed from last to first, so that a replaced
// fact is restored before its own turn is processed; turns that returned, in the opposite order.
func (e branchFollower) followBranch(ctx context.Context, job memory.Job) error {
	if len(job.Turns) < 2 { // the first turn is to be learned from; only later turns left or rejoined the branch
		return nil
	}
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{
		Conversation: job.Conversation, IDs: job.Turns[1:], Statuses: []memory.Status{memory.Active, memory.Replaced},
	})
	if err != nil {
		return fmt.Errorf("read the turns that left or rejoined the branch: %w", err)
	}
	branch, err := e.readBranchTurns(ctx, job.Owner, job.Conversation)
	if err != nil {
		return err
	}
	for _, t := range slices.Backward(turns) {
		if !branch.isWithdrawn(t) {
			continue
		}
		for _, twin := range branch.copiesOf(t) {
			if err := e.removeFactsOf(ctx, job, twin, turns); err != nil {
				return fmt.Errorf("remove the facts of turn %s: %w", twin.ID, err)
			}
		}
	}
	for _, t := range turns {
		if t.Status != memory.Active {
			continue
		}
		for _, twin := range branch.copiesOf(t) {
			if err := e.restoreFactsOf(ctx, job, twin); err != nil {
				return fmt.Errorf("restore the facts of turn %s: %w", twin.ID, err)
			}
		}
	}
	return e.resummarize(ctx, job, turns)
}

// resummarize retires summaries of turns that left or rejoined the branch, and queues a new summary.
func (e branchFollower) resummarize(ctx context.Context, job memory.Job, movedTurns []memory.Turn) error {
	summaries, err := e.Summaries(ctx, job.Owner, job.Conversation)
	if err != nil || len(movedTurns) == 0 {
		return err
	}
	var stale []memory.Memory
	for _, s := range summaries {
		if movedTurns[0].Index < s.MessageCount && s.CreatedAt.Before(job.CreatedAt) {
			stale = append(stale, memory.Memory{Summary: &s})
		}
	}
	if len(stale) == 0 {
		return nil
	}
	changes := learn.Forget(stale, e.Time(), "the chat was edited or regenerated", core.ByBranchSwitch)
	jobs := []memory.Job{core.SummaryJob(job.Owner, job.Conversation, job.ID)}
	return e.applyChanges(ctx, job, memory.Run{ID: core.IDForKey(job.Owner, job.ID+" sums up anew"), Jobs: jobs}, changes)
}

// factsLearnedFrom returns an owner's own facts that were learned from a turn and have one of the statuses.
func (e branchFollower) factsLearnedFrom(ctx context.Context, t memory.Turn, statuses ...memory.Status) ([]memory.Fact, error) {
	var out []memory.Fact
	err := e.EachMemory(ctx, t.Owner, memory.Query{Turn: t.ID, Statuses: statuses}, func(m memory.Memory) {
		if m.Link == nil {
			out = append(out, *m.Fact)
		}
	})
	return out, err
}

// removeFactsOf retires the facts learned from t that no other turn supports, and restores the facts that
// they replaced, which may be retired next. Turns in movedTurns support restored facts.
func (e branchFollower) removeFactsOf(ctx context.Context, job memory.Job, t memory.Turn, movedTurns []memory.Turn) error {
	facts, err := e.factsLearnedFrom(ctx, t, memory.Active, memory.Pending)
	if err != nil {
		return err
	}
	for _, f := range facts {
		hasSupport, err := e.hasSupport(ctx, f, nil)
		if err != nil {
			return err
		}
		journal, err := e.AllChanges(ctx, job.Owner, memory.ChangeQuery{Fact: f.ID})
		if err != nil {
			return err
		}
		if hasSupport || slices.ContainsFunc(journal, func(c memory.Change) bool { return isChangeOf(c, f) && c.Author.Kind == memory.ByPerson }) {
			continue
		}
		restorations, err := e.restoredPredecessors(ctx, f, journal, movedTurns)
		if err != nil {
			return err
		}
		retired := f
		retired.Status, retired.UpdatedAt = memory.Retired, e.Time()
		removal := memory.Change{Action: memory.ActionRetire, After: memory.State{Fact: &retired}, Base: f.Version, Reason: "its message was edited or regenerated"}
		run := memory.Run{ID: core.IDForKey(job.Owner, job.ID+" leaves "+f.ID)}
		err = e.applyChanges(ctx, job, run, append([]memory.Change{removal}, restorations...))
		if errors.Is(err, memory.Duplicate) { // the predecessor was learned again
			err = e.applyChanges(ctx, job, run, []memory.Change{removal})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isChangeOf(c memory.Change, f memory.Fact) bool { return c.After.Target() == "fact:"+f.ID }

// hasSupport reports whether a fact remains: it was not learned from turns, or one of its turns was not
// withdrawn. Turns in movedTurns count as not withdrawn.
func (e branchFollower) hasSupport(ctx context.Context, f memory.Fact, movedTurns []memory.Turn) (bool, error) {
	if f.Source != memory.Extracted || len(f.Provenance.Turns) == 0 {
		return true, nil
	}
	memories, err := e.Store.Get(ctx, f.Scope.Owner, f.Provenance.Turns...)
	if err != nil {
		return false, fmt.Errorf("read the turns of %s: %w", f.ID, err)
	}
	for _, m := range memories {
		if m.Turn != nil && (m.Turn.Status != memory.Replaced || slices.ContainsFunc(movedTurns, func(t memory.Turn) bool { return t.ID == m.ID() })) {
			return true, nil
		}
	}
	for _, m := range memories {
		if m.Turn == nil {
			continue
		}
		branch, err := e.readBranchTurns(ctx, f.Scope.Owner, m.Turn.Conversation)
		if err != nil || !branch.isWithdrawn(*m.Turn) {
			return err == nil, err
		}
	}
	return false, nil
}

// restoredPredecessors returns the changes that restore the facts that f replaced and that have support.
func (e branchFollower) restoredPredecessors(ctx context.Context, f memory.Fact, journal []memory.Change, movedTurns []memory.Turn) ([]memory.Change, error) {
	var restorations []memory.Change
	for _, c := range journal {
		if c.Action != memory.ActionReplace || c.NewID != f.ID || c.Before.Fact == nil {
			continue
		}
		memories, err := e.Store.Get(ctx, f.Scope.Owner, c.OldID)
		if err != nil {
			return nil, fmt.Errorf("read the facts that %s replaced: %w", f.ID, err)
		}
		if len(memories) == 0 || memories[0].Fact == nil || memories[0].Fact.Status != memory.Superseded || memories[0].Fact.SupersededBy != f.ID ||
			slices.ContainsFunc(restorations, func(b memory.Change) bool { return b.After.Fact.ID == c.OldID }) {
			continue
		}
		old := *c.Before.Fact
		hasSupport, err := e.hasSupport(ctx, old, movedTurns)
		if err != nil {
			return nil, err
		}
		if hasSupport {
			old.UpdatedAt = e.Time()
			restorations = append(restorations, memory.Change{Action: memory.ActionRestore, After: memory.State{Fact: &old}, Base: memories[0].Fact.Version, Reason: "what replaced it was edited or regenerated"})
		}
	}
	return restorations, nil
}

// restoreFactsOf restores the facts that were retired with a turn. They replace the facts that they
// contradict, unless these were learned later.
func (e branchFollower) restoreFactsOf(ctx context.Context, job memory.Job, t memory.Turn) error {
	facts, err := e.factsLearnedFrom(ctx, t, memory.Retired)
	if err != nil {
		return err
	}
	for _, f := range facts {
		err := core.RetryOnConflict(ctx, func() error { return e.restoreFact(ctx, job, f) })
		if err != nil && !errors.Is(err, memory.Duplicate) { // a Duplicate means that the fact was learned again
			return err
		}
	}
	return nil
}

// restoreFact restores a fact that was retired with its turn, unless a person decided about it after that.
// It returns [memory.Conflict] after a concurrent write.
func (e branchFollower) restoreFact(ctx context.Context, job memory.Job, f memory.Fact) error {
	base, err := e.Curate.Compare.RunBaseFor(ctx, f)
	if err != nil {
		return err
	}
	if f, err = e.Fact(ctx, job.Owner, f.ID); err != nil { // read first: if the fact changes after this read, the restoration is a Conflict
		return err
	}
	last, err := e.LastChange(ctx, job.Owner, "fact:"+f.ID)
	if err != nil {
		return err
	}
	if last.Author != core.ByBranchSwitch || last.Before.Fact == nil || last.After.Status() != memory.Retired {
		return nil
	}
	replacements, err := e.AllChanges(ctx, job.Owner, memory.ChangeQuery{Fact: f.ID, Action: memory.ActionReplace})
	if err != nil {
		return err
	}
	replacedID := ""
	for _, c := range replacements {
		if c.NewID == f.ID {
			replacedID = c.OldID
		}
	}
	restoration := memory.Change{Action: memory.ActionRestore, After: last.Before, Base: f.Version, Reason: "the chat went back to its message"}
	changes, err := e.restoreChanges(ctx, restoration, replacedID)
	if err != nil {
		return err
	}
	return e.applyChanges(ctx, job, memory.Run{ID: core.IDForKey(job.Owner, job.ID+" returns "+f.ID), Base: base}, changes)
}

// restoreChanges returns the changes that restore a fact. The fact replaces the one with the id replacedID
// and those that it contradicts. If one of them is newer, the restored fact is superseded instead.
func (e branchFollower) restoreChanges(ctx context.Context, restoration memory.Change, replacedID string) ([]memory.Change, error) {
	next := *restoration.After.Fact
	var contradicted []memory.Fact
	var err error
	if next.Status == memory.Active { // a pending fact does not replace other facts
		if contradicted, err = e.Curate.Compare.Conflicts(ctx, next, replacedID); err != nil {
			return nil, err
		}
	}
	next.UpdatedAt = e.Time()
	var changes []memory.Change
	for _, old := range contradicted {
		if !next.Newer(&old) {
			next.Status, next.SupersededBy, next.ValidTo = memory.Superseded, old.ID, old.ObservedAt
			changes = nil
			break
		}
		changes = append(changes, memory.Replace(old, next, e.Time(), restoration.Reason, core.ByBranchSwitch)[0])
	}
	restoration.After.Fact = &next
	return append(changes, restoration), nil
}

// applyChanges applies a run's changes under the job's lease. After a concurrent write the job is retried.
func (e branchFollower) applyChanges(ctx context.Context, job memory.Job, run memory.Run, changes []memory.Change) error {
	if err := e.ExtendLease(ctx, job); err != nil {
		return err
	}
	run.Kind, run.Author = "branch", core.ByBranchSwitch
	_, err := e.Store.Apply(ctx, job.Owner, run, changes...)
	return err
}

// A message's id depends on its position on the branch. If an earlier message is edited and later messages
// are not, the later messages are stored again. Their facts refer to turns of the abandoned branch,
// although the same text is on the current branch.

// branchTurns are a conversation's turns by role and text, on its current branch and on abandoned branches.
type branchTurns struct {
	currentKeys   map[string]bool          // keys of turns on the current branch
	replacedByKey map[string][]memory.Turn // replaced turns by key

	latestVersion map[string]int64 // by role and parent: version of the newest turn at this position
}

// readBranchTurns reads all turns of a conversation.
func (e branchFollower) readBranchTurns(ctx context.Context, owner memory.Owner, conversation string) (branchTurns, error) {
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		Conversation: conversation, Statuses: []memory.Status{memory.Active, memory.Replaced},
	})
	if err != nil {
		return branchTurns{}, fmt.Errorf("read the turns of the branch: %w", err)
	}
	branch := branchTurns{currentKeys: map[string]bool{}, replacedByKey: map[string][]memory.Turn{}, latestVersion: map[string]int64{}}
	for _, t := range turns {
		position, version := string(t.Role)+"\n"+t.Parent, t.Version
		if t.Status == memory.Active {
			version = math.MaxInt64
		}
		branch.latestVersion[position] = max(branch.latestVersion[position], version)
		switch key := TurnKey(t); {
		case key == "":
		case t.Status == memory.Active:
			branch.currentKeys[key] = true
		default:
			branch.replacedByKey[key] = append(branch.replacedByKey[key], t)
		}
	}
	return branch, nil
}

// TurnKey returns the key by which turns are compared: role and text, or "" for a turn without text.
func TurnKey(t memory.Turn) string {
	content := text.Normalize(t.Content)
	if content == "" {
		return ""
	}
	return string(t.Role) + "\n" + content
}

// isWithdrawn reports whether another message replaced a turn and the current branch has no turn with the
// same text. A turn that left only because an earlier turn was replaced is not withdrawn.
func (s branchTurns) isWithdrawn(t memory.Turn) bool {
	return t.Status == memory.Replaced && s.latestVersion[string(t.Role)+"\n"+t.Parent] > t.Version && !s.currentKeys[TurnKey(t)]
}

// copiesOf returns the turn and the replaced turns with the same text, all with the status of t: facts
// learned from a copy are retired and restored with t.
func (s branchTurns) copiesOf(t memory.Turn) []memory.Turn {
	turns := []memory.Turn{t}
	for _, other := range s.replacedByKey[TurnKey(t)] {
		if other.ID != t.ID {
			other.Status = t.Status
			turns = append(turns, other)
		}
	}
	return turns
}
