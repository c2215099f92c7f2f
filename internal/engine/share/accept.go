package share

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// The acceptances; the zero value means AcceptAsk. Pools and the global owner need no consent,
// since only an admin shares with them.
const (
	AcceptAsk    core.Acceptance = "ask"    // the receiver must consent
	AcceptAdmins core.Acceptance = "admins" // the receiver must consent, unless an admin shared the fact
	AcceptOff    core.Acceptance = "off"    // no sharing with users
)

// MostWaiting bounds the facts of one sender that wait for a receiver's consent.
const MostWaiting = 20

// BetweenUsers reports whether a share goes from one user to another.
func BetweenUsers(home, to memory.Owner) bool {
	return home.Kind() == memory.UserKind && to.Kind() == memory.UserKind
}

// needsConsent reports whether a receiver must consent to another owner's fact.
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

// sharedByAdmin reports whether an admin shared the current text of a fact with a receiver.
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
		return false, fmt.Errorf("read who wrote %s: %w", f.ID, err)
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

// roomToShare returns [memory.TooLarge] if too many of a sender's facts wait for a receiver. It
// returns the base of the run that shares one more fact, so that two concurrent runs cannot both
// use the last place.
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
		return 0, fmt.Errorf("read the facts that wait for %s: %w", to.Called(), err)
	}
	// To the sender an erased receiver, who has no links, must look like an undecided one.
	waiting := len(ids)
	for _, m := range found {
		if m.Link == nil || m.Link.Status != memory.Pending {
			waiting--
		}
	}
	if waiting >= MostWaiting {
		return 0, memory.Errorf(memory.TooLarge, "%d facts already wait for a decision by %s; share more once some are accepted or rejected, or stop sharing some", waiting, to.Called())
	}
	return memory.PlannedOn(version), nil
}

// linkStatus returns the status of a link once its owner shows the fact. was is the current link
// or, if it ended, the link before that; nil if there was none. Accepted text stays accepted until
// it changes.
func (e *Sharer) linkStatus(ctx context.Context, was *memory.Link, f memory.Fact, to memory.Owner) (memory.Status, error) {
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
