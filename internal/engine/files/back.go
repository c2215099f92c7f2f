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

// Back is the result of restoring memories that a run forgot together with their files.
type Back struct {
	Run  string // id of the run that forgot them
	Came int    // number of restored memories, including facts
	Left int    // number of the run's facts and turns that were not restored, because of later facts or facts that are still forgotten
}

// BringBack restores facts that were forgotten with their files, and the turns that state them
// unless these also state a fact that is still forgotten. It skips turns of deleted chats, facts
// that were forgotten in another way or changed since, and facts that contradict later ones. Other edits
// in a file are applied if they contradict nothing. A repeated key changes nothing.
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

// withItsFile reports whether a change forgot a fact together with its file and its turns. That
// excludes facts reworded by the same save, and facts that ended without their turns.
func withItsFile(c memory.Change) bool {
	was := c.Before.Fact
	return c.Action == memory.ActionRetire && c.Author == ByFile && was != nil && was.Content == c.After.Fact.Content &&
		!strings.HasPrefix(c.Reason, fileWasBack)
}

// bringBack restores a part of what a run forgot, in a new run with this id, or returns a Conflict.
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

// restoration is the part of a run that is to be restored.
type restoration struct {
	e       *Files
	owner   memory.Owner
	back    Back
	targets []memory.Change // changes to undo

	coming     map[string]bool // ids of facts that are restored, including those of other runs
	says       map[string]FileEdit
	facts      []memory.Fact   // restored facts of this run
	others     []memory.Fact   // facts that stay forgotten
	summarized map[string]bool // conversations with restored turns whose summary the run forgot
}

// withFileEdits returns a restored fact with the other edits of its file, if these cannot
// contradict other facts. Otherwise it returns nil, and the edits are applied later.
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

// readOthers reads the facts that stay forgotten although the run, or a later one, forgot them: the
// turns may state them too.
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

// readTurns adds turns that are sources only of restored facts and that did not change since.
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

// maxComparisons bounds the pairs of turn and fact whose text is compared. With more pairs, only
// turns that the facts name are restored.
const maxComparisons = 100_000

// isSourceOf tests for facts learned from a turn or, with deep, that the turn states.
func isSourceOf(m memory.Memory, deep bool) func(memory.Fact) bool {
	return func(f memory.Fact) bool {
		p := f.Provenance
		return slices.Contains(p.Turns, m.Turn.ID) || p.Quote != nil && p.Quote.Turn == m.Turn.ID || deep && retrieve.States(m, f)
	}
}
