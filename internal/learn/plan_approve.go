package learn

import (
	"time"

	"github.com/loci-memory/loci/memory"
)

// Approve returns the changes by which a person accepts a pending fact. instead is
// the fact that the change which added it names as OldID, nil if it names none or
// it is gone: if it is live and was said before, the approved fact takes its place.
// The person stands behind the fact from then on. The order is that in which a
// store takes them.
func Approve(pending memory.Fact, instead *memory.Fact, now time.Time, author memory.Author) []memory.Change {
	now = memory.Time(now)
	next := pending
	next.Status, next.Trust, next.UpdatedAt = memory.Active, memory.TrustPerson, now
	approve := memory.Change{
		Action: memory.ActionApprove, After: memory.Image{Fact: &next}, Base: pending.Version,
		NewID: pending.ID, Reason: "a person approved it", Author: author,
	}
	if instead == nil || !instead.Status.Live() || !next.Newer(instead) {
		return []memory.Change{approve}
	}
	approve.OldID = instead.ID
	gone := replaced(*instead, next, now, "a person approved what replaces it", author)
	return []memory.Change{gone, approve}
}
