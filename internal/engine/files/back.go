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

// Back is what came back of what a run forgot when files were deleted.
type Back struct {
	Run  string // that forgot it
	Came int    // memories that came back, facts included
	Left int    // facts and turns that came not, though they belong to it: what was learned since, or is forgotten still, stands against them
}

// BringBack takes back that the deletion of their files forgot facts, and with them the turns
// that say so and say no other fact which was forgotten together with them or since, and
// still is. It leaves alone what was said in chats that were deleted since, facts that were
// forgotten in another way or were changed since, and those that would contradict one that
// was learned since. What a file says besides of its fact, and nothing can contradict, comes
// with it. key names the call: the same again changes nothing more.
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
			r := returning{e: e, owner: owner, back: Back{Run: run}, coming: maps.Clone(asked), says: says}
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

// withItsFile reports whether a change forgot a fact with its file, and with it what was said: not
// one whose words were changed by the same save, nor one that ended alone.
func withItsFile(c memory.Change) bool {
	was := c.Before.Fact
	return c.Action == memory.ActionRetire && c.Author == ByFile && was != nil && was.Content == c.After.Fact.Content &&
		!strings.HasPrefix(c.Reason, fileWasBack)
}

// bringBack takes back a part of what a run forgot, in a run of this id, or returns a Conflict.
func (r *returning) bringBack(ctx context.Context, facts []memory.Change, id string) (Back, error) {
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
			changes[i].After.Fact = r.asFileSays(*after.Fact)
		}
	}
	if run.Vectors, err = e.FactVectors(ctx, changes); err != nil {
		return Back{}, err
	}
	for _, c := range slices.Sorted(maps.Keys(r.told)) {
		run.Jobs = append(run.Jobs, core.SummaryJob(owner, c, run.ID))
	}
	if _, err = e.Store.Apply(ctx, owner, run, changes...); err == nil && len(run.Jobs) > 0 {
		e.Wake()
	}
	return r.back, err
}

// returning is what of a run is to come back.
type returning struct {
	e       *Files
	owner   memory.Owner
	back    Back
	targets []memory.Change // to be taken back

	coming map[string]bool // ids of facts that come back, also of other runs
	says   map[string]FileEdit
	facts  []memory.Fact   // that come back of this one
	others []memory.Fact   // that stay forgotten
	told   map[string]bool // conversations whose summary the run forgot, and of which turns come back
}

// asFileSays returns a fact that comes back with what its file says of it besides, if that is
// nothing which may contradict another one: what is goes the way of an edit afterwards.
func (r *returning) asFileSays(f memory.Fact) *memory.Fact {
	edit, there := r.says[f.ID]
	if !there {
		return &f
	}
	edit.Was.Fact = &f
	next, err := edit.merged(r.e, f)
	if err != nil { // as an edit it is refused with that
		return &f
	}
	plain := next
	plain.Category, plain.Tags, plain.Core, plain.Confidence, plain.Metadata, plain.ExpiresAt = f.Category, f.Tags, f.Core, f.Confidence, f.Metadata, f.ExpiresAt
	if !sameButTimes(plain, f) {
		return &f
	}
	return &next
}

func (r *returning) read(ctx context.Context, facts []memory.Change) error {
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

// readOthers reads the facts that are forgotten still, of what was together or since: what was
// said was forgotten by then, and tells of them, too.
func (r *returning) readOthers(ctx context.Context, forgot []memory.Change) error {
	var ids []string
	for _, c := range forgot {
		if f := c.After.Fact; f != nil && !r.coming[f.ID] {
			ids = append(ids, f.ID)
		}
	}
	found, err := r.e.Store.Get(ctx, r.owner, ids...)
	if err != nil {
		return fmt.Errorf("read what was forgotten together: %w", err)
	}
	for _, m := range found {
		if m.Fact != nil && !m.Fact.Status.Live() {
			r.others = append(r.others, *m.Fact)
		}
	}
	return nil
}

// readTurns adds the turns that only facts which come back are known from, if nothing
// changed about them and their chats since.
func (r *returning) readTurns(ctx context.Context, forgot []memory.Change) error {
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
		return fmt.Errorf("read what was said and forgotten: %w", err)
	}
	r.told = map[string]bool{}
	deep := len(turns)*(len(r.facts)+len(r.others)) <= mostReadAgain
	for _, m := range turns {
		if m.Turn == nil || m.Turn.Status == memory.Active || !slices.ContainsFunc(r.facts, knownFrom(m, deep)) {
			continue
		}
		if slices.ContainsFunc(r.others, knownFrom(m, deep)) {
			r.back.Left++
			continue
		}
		if _, err := r.e.Chats.Chat(ctx, r.owner, m.Turn.Conversation); errors.Is(err, memory.NotFound) { // deleted meanwhile
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
				r.told[m.Turn.Conversation] = true
			}
		}
	}
	return nil
}

// mostReadAgain bounds how many pairs of turn and fact are compared by what they say: of more,
// only those come back that the facts name.
const mostReadAgain = 100_000

// knownFrom reports whether a fact is known from a turn: it was learned from it or, if one looks
// deep, the turn says it.
func knownFrom(m memory.Memory, deep bool) func(memory.Fact) bool {
	return func(f memory.Fact) bool {
		p := f.Provenance
		return slices.Contains(p.Turns, m.Turn.ID) || p.Quote != nil && p.Quote.Turn == m.Turn.ID || deep && retrieve.Says(m, f)
	}
}
