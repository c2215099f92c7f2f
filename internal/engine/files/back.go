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
type Back struct {
	Run  string // id of the run that forgot the memories
	Came int    // number of restored memories: facts and turns
	Left int    // number of the run's facts and turns that stay forgotten, because of later facts or other forgotten facts
}

// RestoreFacts restores facts whose restored files were deleted before, and the turns that state
// these facts but no fact that stays forgotten. It skips turns of deleted chats, facts that changed
// since the deletion, and facts that contradict later facts. Other edits in the files are applied
// if they contradict nothing. A second call with the same key changes nothing.
func (e *Files) BringBack(ctx context.Context, owner memory.Owner, files []FileEdit, key string) ([]Back, error) {
	ctx = memory.ForWrite(ctx)
	leave, err := e.Compare.Deciding(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer leave()
	byRun, asked, says := map[string][]memory.Change{}, map[string]bool{}, map[string]FileEdit{}
	for _, f := range files {
		id := f.Was.Fact.ID
		asked[id], says[id] = true, f
		last, err := e.LastChange(ctx, owner, "fact:"+id)
		if err != nil {
			return nil, err
		}
		if withItsFile(last) {
			byRun[last.Run] = append(byRun[last.Run], last)
		}
	}
	var all []Back
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		var back Back
		err := core.Replan(ctx, func() (err error) {
			r := restoration{e: e, owner: owner, back: Back{Run: run}, coming: maps.Clone(asked), says: says}
			back, err = r.bringBack(ctx, byRun[run], core.IDFor(owner, key+run))
			return err
		})
		if err != nil {
			return all, err
		}
		all = append(all, back)
	}
	return all, nil
}

// forgotWithFile reports whether a change forgot a fact with its turns because its file was deleted.
// It is false for a fact whose text changed too, and for a fact that ended without its turns.
func withItsFile(c memory.Change) bool {
	was := c.Before.Fact
	return c.Action == memory.ActionRetire && c.Author == ByFile && was != nil && was.Content == c.After.Fact.Content &&
		!strings.HasPrefix(c.Reason, fileWasBack)
}

// restore restores facts and their turns in a run with this id, or returns [memory.Conflict]. facts
// are the changes that forgot the facts.
func (r *restoration) bringBack(ctx context.Context, facts []memory.Change, id string) (Back, error) {
	if err := r.read(ctx, facts); err != nil || len(r.targets) == 0 {
		return r.back, err
	}
	e, owner := r.e, r.owner
	run := memory.Run{ID: id, Kind: "undo", Author: ByFile}
	changes, err := learn.Undo(r.targets, r.targets, false, e.Time(), ByFile)
	if err != nil {
		return Back{}, err
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
		return Back{}, err
	}
	for _, c := range slices.Sorted(maps.Keys(r.summarized)) {
		run.Jobs = append(run.Jobs, core.SummaryJob(owner, c, run.ID))
	}
	if _, err = e.Store.Apply(ctx, owner, run, changes...); err == nil && len(run.Jobs) > 0 {
		e.Wake()
	}
	return r.back, err
}

// restoration is the restoring of facts and turns that one run forgot.
type restoration struct {
	e       *Files
	owner   memory.Owner
	back    Back
	targets []memory.Change // changes to undo

	coming     map[string]bool // ids of facts to restore, including facts of other runs
	says       map[string]FileEdit
	facts      []memory.Fact   // facts of the run to restore
	others     []memory.Fact   // facts that stay forgotten
	summarized map[string]bool // ids of conversations to summarize again: a turn is restored, and the run forgot the summary
}

// withFileEdits returns a restored fact with the other edits of its file, if the edits cannot
// contradict other facts. Otherwise it returns the fact, and the edits are applied later.
func (r *restoration) withFileEdits(f memory.Fact) *memory.Fact {
	edit, there := r.says[f.ID]
	if !there {
		return &f
	}
	edit.Was.Fact = &f
	next, err := edit.merged(r.e, f)
	if err != nil { // the later edit reports the error
		return &f
	}
	plain := next
	plain.Category, plain.Tags, plain.Core, plain.Confidence, plain.Metadata, plain.ExpiresAt = f.Category, f.Tags, f.Core, f.Confidence, f.Metadata, f.ExpiresAt
	if !sameButTimes(plain, f) {
		return &f
	}
	return &next
}

func (r *restoration) read(ctx context.Context, facts []memory.Change) error {
	for _, c := range facts {
		olds, err := r.e.Compare.Conflicts(ctx, *c.Before.Fact, "")
		if err != nil {
			return err
		}
		if len(olds) > 0 {
			r.back.Left++
			delete(r.coming, c.After.Fact.ID)
			continue
		}
		r.facts = append(r.facts, *c.Before.Fact)
		r.targets = append(r.targets, c)
	}
	if len(r.targets) == 0 {
		return nil
	}
	forgot, err := r.e.AllChanges(ctx, r.owner, memory.ChangeQuery{Run: r.back.Run})
	if err != nil {
		return err
	}
	since, err := r.e.AllChanges(ctx, r.owner, memory.ChangeQuery{Action: memory.ActionRetire, After: facts[0].At})
	if err != nil {
		return err
	}
	if err := r.readOthers(ctx, append(since, forgot...)); err != nil {
		return err
	}
	if err := r.readTurns(ctx, forgot); err != nil {
		return err
	}
	r.back.Came = len(r.targets)
	return nil
}

// collectStillForgotten reads the facts that stay forgotten, among those that the run or a later run forgot:
// the turns may state these facts too.
func (r *restoration) readOthers(ctx context.Context, forgot []memory.Change) error {
	var ids []string
	for _, c := range forgot {
		if f := c.After.Fact; f != nil && !r.coming[f.ID] {
			ids = append(ids, f.ID)
		}
	}
	found, err := r.e.Store.Get(ctx, r.owner, ids...)
	if err != nil {
		return fmt.Errorf("read the facts forgotten together: %w", err)
	}
	for _, m := range found {
		if m.Fact != nil && !m.Fact.Status.Live() {
			r.others = append(r.others, *m.Fact)
		}
	}
	return nil
}

// collectTurns adds turns that are sources only of restored facts and did not change since.
func (r *restoration) readTurns(ctx context.Context, forgot []memory.Change) error {
	changes, summed := map[string]memory.Change{}, map[string]bool{}
	for _, c := range forgot {
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
	r.summarized = map[string]bool{}
	deep := len(turns)*(len(r.facts)+len(r.others)) <= maxComparisons
	for _, m := range turns {
		if m.Turn == nil || m.Turn.Status == memory.Active || !slices.ContainsFunc(r.facts, isSourceOf(m, deep)) {
			continue
		}
		if slices.ContainsFunc(r.others, isSourceOf(m, deep)) {
			r.back.Left++
			continue
		}
		if _, err := r.e.Chats.Chat(ctx, r.owner, m.Turn.Conversation); errors.Is(err, memory.NotFound) { // the chat was deleted later
			continue
		} else if err != nil {
			return err
		}
		last, err := r.e.LastChange(ctx, r.owner, "turn:"+m.Turn.ID)
		if err != nil {
			return err
		}
		if c := changes[m.Turn.ID]; last.ID == c.ID {
			r.targets = append(r.targets, c)
			if summed[m.Turn.Conversation] {
				r.summarized[m.Turn.Conversation] = true
			}
		}
	}
	return nil
}

// maxComparisons limits the pairs of turns and facts whose texts are compared. With more pairs, only
// turns in the provenance of the facts are restored.
const maxComparisons = 100_000

// isSourceOf returns a test whether a fact was learned from a turn or, if compareText is set, whether
// the turn states the fact.
func isSourceOf(m memory.Memory, deep bool) func(memory.Fact) bool {
	return func(f memory.Fact) bool {
		p := f.Provenance
		return slices.Contains(p.Turns, m.Turn.ID) || p.Quote != nil && p.Quote.Turn == m.Turn.ID || deep && retrieve.States(m, f)
	}
}
