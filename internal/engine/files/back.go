package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// RestoreResult is the result of restoring memories that a run forgot because files were deleted.
type RestoreResult struct {
	RunID       string // id of the run that forgot the memories
	Restored    int    // number of restored memories: facts and turns
	NotRestored int    // number of memories that stay forgotten: facts that contradict later facts, and turns that state forgotten facts
}

// RestoreFacts restores the facts of files that were deleted and are back, and the turns that state
// these facts but no fact that stays forgotten. It skips turns of deleted chats, facts that changed
// since the deletion, and facts that contradict later facts. It also applies a person's edits of fields that
// cannot contradict other facts, such as tags. A second call with the same key changes nothing.
func (e *Files) RestoreFacts(ctx context.Context, owner memory.Owner, files []FileEdit, key string) ([]RestoreResult, error) {
	ctx = memory.ForWrite(ctx)
	release, err := e.Compare.LockDecisions(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	byRun, ids, edits := map[string][]memory.Change{}, map[string]bool{}, map[string]FileEdit{}
	for _, f := range files {
		id := f.Stored.Fact.ID
		ids[id], edits[id] = true, f
		last, err := e.LastChange(ctx, owner, "fact:"+id)
		if err != nil {
			return nil, err
		}
		if forgotWithFile(last) {
			byRun[last.Run] = append(byRun[last.Run], last)
		}
	}
	var results []RestoreResult
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		var result RestoreResult
		err := core.RetryOnConflict(ctx, func() (err error) {
			r := restoration{e: e, owner: owner, result: RestoreResult{RunID: run}, idsToRestore: maps.Clone(ids), edits: edits}
			result, err = r.restore(ctx, byRun[run], core.IDForKey(owner, key+run))
			return err
		})
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

// forgotWithFile reports whether a change forgot a fact and its turns because the fact's file was
// deleted. It is false if the change also changed the fact's text, or did not forget its turns.
func forgotWithFile(c memory.Change) bool {
	before := c.Before.Fact
	return c.Action == memory.ActionRetire && c.Author == ByFile && before != nil && before.Content == c.After.Fact.Content &&
		!strings.HasPrefix(c.Reason, fileRestored)
}

// restore restores facts and their turns in the run runID, or returns [memory.Conflict]. factChanges
// are the changes that forgot the facts.
func (r *restoration) restore(ctx context.Context, factChanges []memory.Change, runID string) (RestoreResult, error) {
	if err := r.collectChangesToUndo(ctx, factChanges); err != nil || len(r.changesToUndo) == 0 {
		return r.result, err
	}
	e, owner := r.e, r.owner
	run := memory.Run{ID: runID, Kind: "undo", Author: ByFile}
	changes, err := learn.Undo(r.changesToUndo, r.changesToUndo, false, e.Time(), ByFile)
	if err != nil {
		return RestoreResult{}, err
	}
	for i := range changes {
		changes[i].Action, changes[i].Reason = memory.ActionRestore, "its file is back"
		switch after := changes[i].After; {
		case after.Turn != nil:
			changes[i].Reason = "the file of what it taught is back"
		case after.Fact != nil:
			changes[i].After.Fact = r.withFileEdits(*after.Fact)
		}
	}
	if run.Vectors, err = e.FactVectors(ctx, changes); err != nil {
		return RestoreResult{}, err
	}
	for _, c := range slices.Sorted(maps.Keys(r.conversationsToSummarize)) {
		run.Jobs = append(run.Jobs, core.SummaryJob(owner, c, run.ID))
	}
	if _, err = e.Store.Apply(ctx, owner, run, changes...); err == nil && len(run.Jobs) > 0 {
		e.WakeJobRunner()
	}
	return r.result, err
}

// restoration restores the facts and turns that one run forgot.
type restoration struct {
	e             *Files
	owner         memory.Owner
	result        RestoreResult
	changesToUndo []memory.Change // changes to undo, all by the run that forgot the facts

	idsToRestore             map[string]bool // ids of the facts to restore, including facts that other runs forgot
	edits                    map[string]FileEdit
	restoredFacts            []memory.Fact   // facts to restore that the run forgot
	stillForgotten           []memory.Fact   // facts that stay forgotten
	conversationsToSummarize map[string]bool // ids of conversations to summarize again: they get a turn back, and the run forgot their summary
}

// withFileEdits returns the restored fact f with the edits in its file, if these change only fields that cannot
// contradict other facts, such as tags. Otherwise it returns f, and the edits are applied later.
func (r *restoration) withFileEdits(f memory.Fact) *memory.Fact {
	edit, hasEdit := r.edits[f.ID]
	if !hasEdit {
		return &f
	}
	edit.Stored.Fact = &f
	next, err := edit.mergedFact(r.e, f)
	if err != nil { // the error is reported when the edits are applied later
		return &f
	}
	unedited := next
	unedited.Category, unedited.Tags, unedited.Core, unedited.Confidence, unedited.Metadata, unedited.ExpiresAt = f.Category, f.Tags, f.Core, f.Confidence, f.Metadata, f.ExpiresAt
	if !sameEditableFields(unedited, f) {
		return &f
	}
	return &next
}

func (r *restoration) collectChangesToUndo(ctx context.Context, factChanges []memory.Change) error {
	for _, c := range factChanges {
		conflicts, err := r.e.Compare.Conflicts(ctx, *c.Before.Fact, "")
		if err != nil {
			return err
		}
		if len(conflicts) > 0 {
			r.result.NotRestored++
			delete(r.idsToRestore, c.After.Fact.ID)
			continue
		}
		r.restoredFacts = append(r.restoredFacts, *c.Before.Fact)
		r.changesToUndo = append(r.changesToUndo, c)
	}
	if len(r.changesToUndo) == 0 {
		return nil
	}
	forgotten, err := r.e.AllChanges(ctx, r.owner, memory.ChangeQuery{Run: r.result.RunID})
	if err != nil {
		return err
	}
	since, err := r.e.AllChanges(ctx, r.owner, memory.ChangeQuery{Action: memory.ActionRetire, After: factChanges[0].At})
	if err != nil {
		return err
	}
	if err := r.collectStillForgotten(ctx, append(since, forgotten...)); err != nil {
		return err
	}
	if err := r.collectTurns(ctx, forgotten); err != nil {
		return err
	}
	r.result.Restored = len(r.changesToUndo)
	return nil
}

// collectStillForgotten adds to stillForgotten the facts that changes forgot and that will stay forgotten.
// A turn that states such a fact is not restored.
func (r *restoration) collectStillForgotten(ctx context.Context, changes []memory.Change) error {
	var ids []string
	for _, c := range changes {
		if f := c.After.Fact; f != nil && !r.idsToRestore[f.ID] {
			ids = append(ids, f.ID)
		}
	}
	found, err := r.e.Store.Get(ctx, r.owner, ids...)
	if err != nil {
		return fmt.Errorf("read the facts that stay forgotten: %w", err)
	}
	for _, m := range found {
		if m.Fact != nil && !m.Fact.Status.Live() {
			r.stillForgotten = append(r.stillForgotten, *m.Fact)
		}
	}
	return nil
}

// collectTurns adds to changesToUndo the unchanged forgotten turns whose facts are all restored.
func (r *restoration) collectTurns(ctx context.Context, forgottenChanges []memory.Change) error {
	changes, summed := map[string]memory.Change{}, map[string]bool{}
	for _, c := range forgottenChanges {
		switch {
		case c.After.Turn != nil:
			changes[c.After.Turn.ID] = c
		case c.After.Summary != nil:
			summed[c.After.Summary.Scope.Conversation] = true
		}
	}
	turns, err := r.e.Store.Get(ctx, r.owner, slices.Sorted(maps.Keys(changes))...)
	if err != nil {
		return fmt.Errorf("read forgotten turns: %w", err)
	}
	r.conversationsToSummarize = map[string]bool{}
	compareText := len(turns)*(len(r.restoredFacts)+len(r.stillForgotten)) <= maxComparisons
	for _, m := range turns {
		if m.Turn == nil || m.Turn.Status == memory.Active || !slices.ContainsFunc(r.restoredFacts, isSourceOf(m, compareText)) {
			continue
		}
		if slices.ContainsFunc(r.stillForgotten, isSourceOf(m, compareText)) {
			r.result.NotRestored++
			continue
		}
		if _, err := r.e.Chats.Chat(ctx, r.owner, m.Turn.Conversation); errors.Is(err, memory.NotFound) { // the chat was deleted after its turn was forgotten
			continue
		} else if err != nil {
			return err
		}
		last, err := r.e.LastChange(ctx, r.owner, "turn:"+m.Turn.ID)
		if err != nil {
			return err
		}
		if c := changes[m.Turn.ID]; last.ID == c.ID {
			r.changesToUndo = append(r.changesToUndo, c)
			if summed[m.Turn.Conversation] {
				r.conversationsToSummarize[m.Turn.Conversation] = true
			}
		}
	}
	return nil
}

// maxComparisons limits the pairs of turns and facts whose texts are compared. With more pairs, no texts
// are compared, and a turn is only restored if the provenance of a restored fact lists it.
const maxComparisons = 100_000

// isSourceOf returns a function that reports whether a fact was learned from a turn or, if
// compareText is set, whether the turn states the fact.
func isSourceOf(m memory.Memory, compareText bool) func(memory.Fact) bool {
	return func(f memory.Fact) bool {
		p := f.Provenance
		return slices.Contains(p.Turns, m.Turn.ID) || p.Quote != nil && p.Quote.Turn == m.Turn.ID || compareText && retrieve.StatesFact(m, f)
	}
}
