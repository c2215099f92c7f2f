package shelf

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

func matchesChange(q memory.ChangeQuery, c memory.Change) bool {
	target := c.After.Target()
	return (q.Target == "" || q.Target == target) &&
		(q.Fact == "" || slices.Contains([]string{c.OldID, c.NewID}, q.Fact) || target == "fact:"+q.Fact || target == "link:"+q.Fact) &&
		(q.Run == "" || q.Run == c.Run) &&
		(q.Runs == "" || strings.HasPrefix(c.Run, q.Runs) && c.ID == c.Run+"/1") &&
		(q.ID == "" || q.ID == c.ID) &&
		(q.Action == "" || q.Action == c.Action) &&
		(q.After.IsZero() || c.At.After(q.After))
}

// statesAt returns the states at a time, except turns and conversations. The zero time means now.
func (s *Shelf) imagesAt(asOf time.Time) map[string]memory.Image {
	if asOf.IsZero() {
		return s.Things
	}
	images := maps.Clone(s.Things)
	for _, c := range slices.Backward(s.Journal) {
		switch target := c.After.Target(); {
		case !c.At.After(asOf):
			return images
		case c.After.Turn != nil, c.After.Conversation != nil:
		case c.Before.IsZero():
			delete(images, target)
		default:
			images[target] = c.Before
		}
	}
	return images
}

// Changes returns the journal: see [memory.Facts].
func (s *Shelf) Changes(q memory.ChangeQuery) (memory.ChangePage, error) {
	var found []memory.Change
	for _, c := range s.Journal {
		if matchesChange(q, c) {
			found = append(found, copyChange(c))
		}
	}
	found, next, err := PageAfter(found, q.Limit, q.Cursor, func(c memory.Change) Place {
		return Place{ID: fmt.Sprintf("%020d/%020d", c.Version, Ordinal(c))}
	})
	return memory.ChangePage{Changes: found, Next: next}, err
}

// Ordinal returns the position of a change in its run, from 1.
func Ordinal(c memory.Change) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(c.ID, c.Run+"/")) // applyChanges and Erase make these ids
	return n
}

// CompareChanges compares two changes by their order in the journal.
func ByPlace(a, b memory.Change) int {
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(Ordinal(a), Ordinal(b)))
}
