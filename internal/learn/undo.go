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
	u := newUndoing(targets, journal)
	for {
		later := u.laterChanges()
		if len(later) == 0 {
			return u.changes(memory.Time(now), author), nil
		}
		if !cascade {
			return nil, memory.Errorf(memory.Conflict, "changed again later: %s; undo these changes first, or use cascade", strings.Join(later, ", "))
		}
		u.take(later...)
	}
}

// undoing holds the changes to revert, and all changes of each memory.
type undoing struct {
	all    []memory.Change // all changes of each memory, oldest first
	marked map[string]bool // ids of the changes to revert
}

func newUndoing(targets, journal []memory.Change) *undoing {
	u := &undoing{marked: map[string]bool{}}
	seen := map[string]bool{}
	for _, c := range slices.Concat(targets, journal) {
		if !seen[c.ID] {
			seen[c.ID] = true
			u.all = append(u.all, c)
		}
	}
	slices.SortStableFunc(u.all, func(a, b memory.Change) int {
		if a.Version != b.Version {
			return int(min(max(a.Version-b.Version, -1), 1))
		}
		return ordinal(a.ID) - ordinal(b.ID)
	})
	for _, c := range targets {
		u.take(c.ID)
	}
	return u
}

// ordinal returns the position of a change in its run, from its id "RUN/3".
func ordinal(id string) int {
	n := 0
	for _, r := range id[strings.LastIndexByte(id, '/')+1:] {
		if r < '0' || r > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// take marks changes for reverting, and for each replacement also the other changes of the replacement.
func (u *undoing) take(ids ...string) {
	for _, c := range u.all {
		if !slices.Contains(ids, c.ID) {
			continue
		}
		u.marked[c.ID] = true
		for _, other := range u.all {
			if replacement(c) && other.Run == c.Run && other.NewID == c.NewID && replacement(other) {
				u.marked[other.ID] = true
			}
		}
	}
}

func replacement(c memory.Change) bool { return c.OldID != "" && c.NewID != "" }

// laterChanges returns the ids of unmarked changes that follow a marked change of the same memory, newest first.
func (u *undoing) laterChanges() []string {
	var out []string
	touched := map[string]bool{}
	for _, c := range u.all {
		switch target := c.After.Target(); {
		case u.marked[c.ID]:
			touched[target] = true
		case touched[target]:
			out = append(out, c.ID)
		}
	}
	slices.Reverse(out)
	return out
}

// changes returns one change for each memory. Changes that exclude a memory from search come first, so that
// two live facts never have the same words.
func (u *undoing) changes(now time.Time, author memory.Author) []memory.Change {
	first := map[string]memory.Change{} // the first marked change of each memory
	last := map[string]memory.Change{}
	var order []string
	for _, c := range u.all {
		if !u.marked[c.ID] {
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
	var leaving, staying []memory.Change
	for _, target := range order {
		oldest, newest := first[target], last[target]
		after := oldest.Before
		if after.IsZero() {
			after = retiredImage(newest.After, now)
		}
		change := memory.Change{
			Action: memory.ActionUndo, After: after, Base: newest.Version,
			Reason: "undo of " + oldest.ID, Author: author,
		}
		if after.Status().Live() {
			staying = append(staying, change)
		} else {
			leaving = append(leaving, change)
		}
	}
	return append(leaving, staying...)
}

// retiredImage returns the retired state of an added memory.
func retiredImage(i memory.Image, now time.Time) memory.Image {
	switch {
	case i.Fact != nil:
		f := *i.Fact
		f.Status, f.SupersededBy, f.UpdatedAt = memory.Retired, "", now
		i.Fact = &f
	case i.Link != nil:
		l := *i.Link
		l.Status = memory.Retired
		i.Link = &l
	case i.Profile != nil:
		p := *i.Profile
		p.Status, p.UpdatedAt = memory.Retired, now
		i.Profile = &p
	case i.Relation != nil:
		r := *i.Relation
		r.Status = memory.Retired
		i.Relation = &r
	case i.Summary != nil:
		s := *i.Summary
		s.Status = memory.Retired
		i.Summary = &s
	case i.Context != nil:
		c := *i.Context
		c.Status, c.UpdatedAt = memory.Retired, now
		i.Context = &c
	}
	return i
}
