package share

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// The acceptances. The zero value means AcceptAsk. Pools and everybody need no consent:
// only an admin shares with them.
const (
	AcceptAsk    core.Acceptance = "ask"    // the receiver's
	AcceptAdmins core.Acceptance = "admins" // the receiver's, unless an admin shared the fact
	AcceptOff    core.Acceptance = "off"    // nobody shares with users
)

// MostWaiting is how many facts of one sender may wait for one receiver.
const MostWaiting = 20

// BetweenUsers reports whether a share is from one user to another.
func BetweenUsers(home, to memory.Owner) bool {
	return home.Kind() == memory.UserKind && to.Kind() == memory.UserKind
}

// needsConsent reports whether a receiver must accept what a fact of another owner says.
func (e *Sharer) needsConsent(ctx context.Context, f memory.Fact, to memory.Owner) (bool, error) {
	if !BetweenUsers(f.Scope.Owner, to) {
		return false, nil
	}
	if e.Opts.Accept != AcceptAdmins {
		return true, nil
	}
	byAdmin, err := e.sharedByAdmin(ctx, f, to)
	return !byAdmin, err
}

// sharedByAdmin reports whether an admin shared a fact with a receiver as it is worded: the
// share is an admin's, and nobody else changed the words since.
func (e *Sharer) sharedByAdmin(ctx context.Context, f memory.Fact, to memory.Owner) (bool, error) {
	home := f.Scope.Owner
	shares, err := e.AllChanges(ctx, home, memory.ChangeQuery{Target: "profile:" + SharedKeys + f.ID})
	if err != nil {
		return false, fmt.Errorf("read who shared %s: %w", f.ID, err)
	}
	at := slices.IndexFunc(shares, func(c memory.Change) bool { return sharesIn(c.After, to) && !sharesIn(c.Before, to) })
	if at < 0 || !shares[at].Author.Admin {
		return false, nil
	}
	edits, err := e.AllChanges(ctx, home, memory.ChangeQuery{Target: "fact:" + f.ID})
	if err != nil {
		return false, fmt.Errorf("read who worded %s: %w", f.ID, err)
	}
	for _, c := range edits {
		if c.Version < shares[at].Version {
			break
		}
		if c.After.Fact != nil && (c.Before.Fact == nil || c.Before.Fact.Content != c.After.Fact.Content) && !c.Author.Admin {
			return false, nil
		}
	}
	return true, nil
}

// sharesIn reports whether an image is an active entry that shares with an owner.
func sharesIn(i memory.Image, to memory.Owner) bool {
	return i.Profile != nil && i.Profile.Status == memory.Active && slices.Contains(sharedIn(i.Profile.Value), to)
}

// roomToShare returns [memory.TooLarge] if as many facts of a sender wait for a receiver as
// may. It returns the base of the run that shares one more, so that two at once cannot both
// take the last place.
func (e *Sharer) roomToShare(ctx context.Context, home, to memory.Owner) (base int64, err error) {
	version, err := e.Version(ctx, home)
	if err != nil {
		return 0, err
	}
	shared, err := e.sharedBy(ctx, home)
	if err != nil {
		return 0, err
	}
	var ids []string
	for id, entry := range shared {
		if slices.Contains(sharedIn(entry.Value), to) {
			ids = append(ids, id)
		}
	}
	if len(ids) < MostWaiting {
		return memory.PlannedOn(version), nil
	}
	found, err := e.Store.Get(ctx, to, ids...)
	if err != nil {
		return 0, fmt.Errorf("read what waits for %s: %w", to.Called(), err)
	}
	// A receiver who is erased has no links, and must look like one who decides nothing.
	waiting := len(ids)
	for _, m := range found {
		if m.Link == nil || m.Link.Status != memory.Pending {
			waiting--
		}
	}
	if waiting >= MostWaiting {
		return 0, memory.Errorf(memory.TooLarge, "%d facts wait for %s already; share more once some are accepted or rejected, or withdraw some", waiting, to.Called())
	}
	return memory.PlannedOn(version), nil
}

// shownAs returns the status that a link to a fact has once its home shows it: was is the
// link as it is or, if it ended, as it was before that; nil for none. What the receiver
// accepted stays accepted until its words change.
func (e *Sharer) shownAs(ctx context.Context, was *memory.Link, f memory.Fact, to memory.Owner) (memory.Status, error) {
	if was != nil && was.Status == memory.Active && was.Fact.Scope.Owner == f.Scope.Owner && was.Fact.Content == f.Content {
		return memory.Active, nil
	}
	asks, err := e.needsConsent(ctx, f, to)
	if err != nil {
		return "", err
	}
	if asks {
		return memory.Pending, nil
	}
	return memory.Active, nil
}
