package share

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// The values of Acceptance; the zero value means AcceptAsk. Sharing with a pool or the global owner needs
// no consent, since only an admin can do it.
const (
	AcceptAsk    core.Acceptance = "ask"    // the receiver must accept each fact
	AcceptAdmins core.Acceptance = "admins" // the receiver must accept each fact that an admin did not share
	AcceptOff    core.Acceptance = "off"    // no sharing with users
)

// MaxPendingShares bounds the facts of one owner that wait for a receiver's consent.
const MostWaiting = 20

// BetweenUsers reports whether a share goes from one user to another.
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

// isShareWith reports whether an image is an active share entry for an owner.
func sharesIn(i memory.Image, to memory.Owner) bool {
	return i.Profile != nil && i.Profile.Status == memory.Active && slices.Contains(sharedIn(i.Profile.Value), to)
}

// checkPendingLimit returns [memory.TooLarge] if too many of an owner's facts wait for a receiver. It
// returns the base of the run that shares one more fact, so that two concurrent runs cannot both reach
// the limit.
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
	// The sender must not see whether the receiver is erased, so erased receivers count as undecided.
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

// linkStatus returns the status of a link when its owner gets the fact. previous is the current link or,
// if it ended, the link before it ended; nil if there was none. An accepted text remains accepted until
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
