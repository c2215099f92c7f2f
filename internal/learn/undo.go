package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Undo returns the changes that take targets back: each thing gets the state it
// had before the first of them, and what they added is retired. The two sides of a
// replacement are taken back together.
//
// journal holds what was recorded since the first of targets; other things in it
// do not matter, nor does its order. If a thing was changed again after the last
// of targets that is about it, Undo returns [memory.Conflict] with those changes;
// with cascade it takes them back as well, and what they depend on in turn.
func Undo(targets, journal []memory.Change, cascade bool, now time.Time, author memory.Author) ([]memory.Change, error) {
	u := newUndoing(targets, journal)
	for {
		later := u.later()
		if len(later) == 0 {
			return u.changes(memory.Time(now), author), nil
		}
		if !cascade {
			return nil, memory.Errorf(memory.Conflict, "changed again since: %s; undo these first, or with cascade", strings.Join(later, ", "))
		}
		u.take(later...)
	}
}

// undoing is the changes that are taken back, with all others by thing.
type undoing struct {
	all    []memory.Change // oldest first
	marked map[string]bool // by id: taken back
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

// ordinal returns the place of a change in its run, from its id "RUN/3".
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

// take marks changes and, of replacements, the other side.
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

// later returns the ids of unmarked changes that came after a marked one about the
// same thing, newest first.
func (u *undoing) later() []string {
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

// changes returns one change for each thing: what leaves recall first, so that no
// two things are live with the same words in between.
func (u *undoing) changes(now time.Time, author memory.Author) []memory.Change {
	first := map[string]memory.Change{} // of the marked changes, by thing
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
			after = retired(newest.After, now)
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

// retired returns the image of something that was added and is taken back.
func retired(i memory.Image, now time.Time) memory.Image {
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
