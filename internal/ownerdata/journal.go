package ownerdata

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

func changeMatches(q memory.ChangeQuery, c memory.Change) bool {
	target := c.After.Target()
	return (q.Target == "" || q.Target == target) &&
		(q.Fact == "" || slices.Contains([]string{c.OldID, c.NewID}, q.Fact) || target == "fact:"+q.Fact || target == "link:"+q.Fact) &&
		(q.Run == "" || q.Run == c.Run) &&
		(q.RunPrefix == "" || strings.HasPrefix(c.Run, q.RunPrefix) && c.ID == c.Run+"/1") &&
		(q.ID == "" || q.ID == c.ID) &&
		(q.Action == "" || q.Action == c.Action) &&
		(q.After.IsZero() || c.At.After(q.After))
}

// statesAt returns the states at asOf, without those of turns and conversations. The zero time means now.
func (s *Data) statesAt(asOf time.Time) map[string]memory.State {
	if asOf.IsZero() {
		return s.States
	}
	states := maps.Clone(s.States)
	for _, c := range slices.Backward(s.Journal) {
		switch target := c.After.Target(); {
		case !c.At.After(asOf):
			return states
		case c.After.Turn != nil, c.After.Conversation != nil:
		case c.Before.IsZero():
			delete(states, target)
		default:
			states[target] = c.Before
		}
	}
	return states
}

// Changes returns the journal: see [memory.Facts].
func (s *Data) Changes(q memory.ChangeQuery) (memory.ChangePage, error) {
	var found []memory.Change
	for _, c := range s.Journal {
		if changeMatches(q, c) {
			found = append(found, copyChange(c))
		}
	}
	found, next, err := PageAfter(found, q.Limit, q.Cursor, func(c memory.Change) ListPosition {
		return ListPosition{ID: fmt.Sprintf("%020d/%020d", c.Version, Ordinal(c))}
	})
	return memory.ChangePage{Changes: found, Next: next}, err
}

// Ordinal returns the position of a change in its run, from 1.
func Ordinal(c memory.Change) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(c.ID, c.Run+"/")) // an id is the run's id, a slash and the ordinal
	return n
}

// CompareChanges compares two changes by their order in the journal.
func CompareChanges(a, b memory.Change) int {
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(Ordinal(a), Ordinal(b)))
}
