package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Undo returns the changes that revert targets: each memory gets its state before its first target, and added
// memories are retired. Undo reverts both facts of a replacement together.
//
// journal has all changes since the first target, in any order. If a memory changed again after its last target,
// Undo returns [memory.Conflict] with the later changes, or, with cascade, reverts those changes as well.
func Undo(targets, journal []memory.Change, cascade bool, now time.Time, author memory.Author) ([]memory.Change, error) {
	u := newUndoPlan(targets, journal)
	for {
		later := u.laterChanges()
		if len(later) == 0 {
			return u.revertingChanges(memory.Time(now), author), nil
		}
		if !cascade {
			return nil, memory.Errorf(memory.Conflict, "changed again later: %s; undo these changes first, or use cascade", strings.Join(later, ", "))
		}
		u.markToRevert(later...)
	}
}

// undoPlan holds the changes to revert, and all changes of each memory.
type undoPlan struct {
	journal  []memory.Change // all changes of each memory, oldest first
	toRevert map[string]bool // ids of the changes to revert
}

func newUndoPlan(targets, journal []memory.Change) *undoPlan {
	u := &undoPlan{toRevert: map[string]bool{}}
	seen := map[string]bool{}
	for _, c := range slices.Concat(targets, journal) {
		if !seen[c.ID] {
			seen[c.ID] = true
			u.journal = append(u.journal, c)
		}
	}
	slices.SortStableFunc(u.journal, func(a, b memory.Change) int {
		if a.Version != b.Version {
			return int(min(max(a.Version-b.Version, -1), 1))
		}
		return changeOrdinal(a.ID) - changeOrdinal(b.ID)
	})
	for _, c := range targets {
		u.markToRevert(c.ID)
	}
	return u
}

// changeOrdinal returns the position of a change in its run, from its id "RUN/3".
func changeOrdinal(id string) int {
	n := 0
	for _, r := range id[strings.LastIndexByte(id, '/')+1:] {
		if r < '0' || r > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// markToRevert marks changes, and for a change of a replacement also the other changes of the replacement.
func (u *undoPlan) markToRevert(ids ...string) {
	for _, c := range u.journal {
		if !slices.Contains(ids, c.ID) {
			continue
		}
		u.toRevert[c.ID] = true
		for _, other := range u.journal {
			if isReplacement(c) && other.Run == c.Run && other.NewID == c.NewID && isReplacement(other) {
				u.toRevert[other.ID] = true
			}
		}
	}
}

func isReplacement(c memory.Change) bool { return c.OldID != "" && c.NewID != "" }

// laterChanges returns the ids of unmarked changes that follow a marked change of the same memory, newest first.
func (u *undoPlan) laterChanges() []string {
	var out []string
	hasMarked := map[string]bool{}
	for _, c := range u.journal {
		switch target := c.After.Target(); {
		case u.toRevert[c.ID]:
			hasMarked[target] = true
		case hasMarked[target]:
			out = append(out, c.ID)
		}
	}
	slices.Reverse(out)
	return out
}

// revertingChanges returns one change for each memory. Changes that exclude a memory from search come first, so that
// two live facts never have the same words.
func (u *undoPlan) revertingChanges(now time.Time, author memory.Author) []memory.Change {
	first := map[string]memory.Change{} // the first marked change of each memory
	last := map[string]memory.Change{}
	var order []string
	for _, c := range u.journal {
		if !u.toRevert[c.ID] {
			continue
		}
		target := c.After.Target()
		if _, met := first[target]; !met {
			first[target] = c
			order = append(order, target)
		}
		last[target] = c
	}
	slices.Reverse(order)
	var excluding, restoring []memory.Change
	for _, target := range order {
		oldest, newest := first[target], last[target]
		after := oldest.Before
		if after.IsZero() {
			after = retiredState(newest.After, now)
		}
		change := memory.Change{
			Action: memory.ActionUndo, After: after, Base: newest.Version,
			Reason: "undo of " + oldest.ID, Author: author,
		}
		if after.Status().Live() {
			restoring = append(restoring, change)
		} else {
			excluding = append(excluding, change)
		}
	}
	return append(excluding, restoring...)
}

// retiredState returns the state of an added memory after its addition is undone: retired.
func retiredState(state memory.State, now time.Time) memory.State {
	switch {
	case state.Fact != nil:
		f := *state.Fact
		f.Status, f.SupersededBy, f.UpdatedAt = memory.Retired, "", now
		state.Fact = &f
	case state.Link != nil:
		l := *state.Link
		l.Status = memory.Retired
		state.Link = &l
	case state.Profile != nil:
		p := *state.Profile
		p.Status, p.UpdatedAt = memory.Retired, now
		state.Profile = &p
	case state.Relation != nil:
		r := *state.Relation
		r.Status = memory.Retired
		state.Relation = &r
	case state.Summary != nil:
		s := *state.Summary
		s.Status = memory.Retired
		state.Summary = &s
	case state.Context != nil:
		c := *state.Context
		c.Status, c.UpdatedAt = memory.Retired, now
		state.Context = &c
	}
	return state
}
