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
	AcceptAsk    core.Acceptance = "ask"    // the receiver's consent
	AcceptAdmins core.Acceptance = "admins" // the receiver's consent, unless an admin shared the fact
	AcceptOff    core.Acceptance = "off"    // no sharing with users
)

// MostWaiting bounds the facts of one sender that are pending at a receiver.
const MostWaiting = 20

// BetweenUsers reports whether a share is from one user to another.
func BetweenUsers(home, to memory.Owner) bool {
	return home.Kind() == memory.UserKind && to.Kind() == memory.UserKind
}

// needsConsent reports whether a receiver must accept another owner's fact.
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

// sharedByAdmin reports whether an admin shared a fact's current text with a receiver.
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

// sharesIn reports whether an image is an active share entry for an owner.
func sharesIn(i memory.Image, to memory.Owner) bool {
	return i.Profile != nil && i.Profile.Status == memory.Active && slices.Contains(sharedIn(i.Profile.Value), to)
}

// roomToShare returns [memory.TooLarge] if a sender's facts pending at a receiver reach the bound.
// It returns the base of the run that shares one more, so that two at once cannot both take the
// last place.
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
	// An erased receiver has no links, and must look like one who decides nothing.
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

// shownAs returns the status of a link once its home shows the fact; was is the link now or, if it
// ended, before that; nil for none. Accepted text stays accepted until it changes.
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
