package inmem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Changes returns the journal.
func (s *Store) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	var page memory.ChangePage
	err := s.read(ctx, owner, func(sh *shelf) error {
		// Its place in the journal is a change's place in the list.
		type entry struct {
			at     int
			change memory.Change
		}
		var found []entry
		for i, c := range sh.journal {
			if matchesChange(q, c) {
				found = append(found, entry{i, copyChange(c)})
			}
		}
		entries, next, err := cut(found, q.Limit, q.Cursor, func(e entry) place {
			return place{ID: fmt.Sprintf("%020d", e.at)}
		})
		for _, e := range entries {
			page.Changes = append(page.Changes, e.change)
		}
		page.Next = next
		return err
	})
	return page, err
}

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

// imagesAt returns what was there at asOf, or what is there, of all but turns
// and conversations.
func (s *shelf) imagesAt(asOf time.Time) map[string]memory.Image {
	if asOf.IsZero() {
		return s.things
	}
	images := map[string]memory.Image{}
	for _, c := range s.journal {
		if c.After.Turn == nil && c.After.Conversation == nil && !c.At.After(asOf) {
			images[c.After.Target()] = c.After
		}
	}
	return images
}
