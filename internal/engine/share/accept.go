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
const MaxPendingShares = 20

// IsBetweenUsers reports whether a share goes from one user to another.
func IsBetweenUsers(home, receiver memory.Owner) bool {
	return home.Kind() == memory.UserKind && receiver.Kind() == memory.UserKind
}

// needsConsent reports whether a receiver must accept another owner's fact.
func (e *Sharer) needsConsent(ctx context.Context, f memory.Fact, receiver memory.Owner) (bool, error) {
	if !IsBetweenUsers(f.Scope.Owner, receiver) {
		return false, nil
	}
	if e.Opts.Acceptance != AcceptAdmins {
		return true, nil
	}
	byAdmin, err := e.isSharedByAdmin(ctx, f, receiver)
	return !byAdmin, err
}

// isSharedByAdmin reports whether an admin shared the current text of a fact with a receiver.
func (e *Sharer) isSharedByAdmin(ctx context.Context, f memory.Fact, receiver memory.Owner) (bool, error) {
	home := f.Scope.Owner
	shares, err := e.AllChanges(ctx, home, memory.ChangeQuery{Target: "profile:" + ShareKeyPrefix + f.ID})
	if err != nil {
		return false, fmt.Errorf("read who shared %s: %w", f.ID, err)
	}
	index := slices.IndexFunc(shares, func(c memory.Change) bool { return isShareWith(c.After, receiver) && !isShareWith(c.Before, receiver) })
	if index < 0 || !shares[index].Author.Admin {
		return false, nil
	}
	edits, err := e.AllChanges(ctx, home, memory.ChangeQuery{Target: "fact:" + f.ID})
	if err != nil {
		return false, fmt.Errorf("read who wrote %s: %w", f.ID, err)
	}
	for _, c := range edits {
		if c.Version < shares[index].Version {
			break
		}
		if c.After.Fact != nil && (c.Before.Fact == nil || c.Before.Fact.Content != c.After.Fact.Content) && !c.Author.Admin {
			return false, nil
		}
	}
	return true, nil
}

// isShareWith reports whether a state is that of an active share entry that lists a receiver.
func isShareWith(state memory.State, receiver memory.Owner) bool {
	return state.Profile != nil && state.Profile.Status == memory.Active && slices.Contains(parseReceivers(state.Profile.Value), receiver)
}

// checkPendingLimit returns [memory.TooLarge] if too many of an owner's facts wait for a receiver's consent.
// It returns the base of the run that shares one more fact, so that two concurrent runs cannot together
// exceed the limit.
func (e *Sharer) checkPendingLimit(ctx context.Context, home, receiver memory.Owner) (base int64, err error) {
	version, err := e.Version(ctx, home)
	if err != nil {
		return 0, err
	}
	entries, err := e.shareEntries(ctx, home)
	if err != nil {
		return 0, err
	}
	var ids []string
	for id, entry := range entries {
		if slices.Contains(parseReceivers(entry.Value), receiver) {
			ids = append(ids, id)
		}
	}
	if len(ids) < MaxPendingShares {
		return memory.RunBase(version), nil
	}
	memories, err := e.Store.Get(ctx, receiver, ids...)
	if err != nil {
		return 0, fmt.Errorf("read the facts offered to %s: %w", receiver.DisplayName(), err)
	}
	// The sender must not see whether the receiver is erased, so erased receivers count as undecided.
	waiting := len(ids)
	for _, m := range memories {
		if m.Link == nil || m.Link.Status != memory.Pending {
			waiting--
		}
	}
	if waiting >= MaxPendingShares {
		return 0, memory.Errorf(memory.TooLarge, "%d facts already wait for a decision by %s; share more once some are accepted or rejected, or stop sharing some", waiting, receiver.DisplayName())
	}
	return memory.RunBase(version), nil
}

// linkStatus returns the status of a link when its owner gets the fact. previous is the earlier link (if the
// link ended, as it was before it ended), or nil. An accepted text remains accepted until it changes.
func (e *Sharer) linkStatus(ctx context.Context, previous *memory.Link, f memory.Fact, receiver memory.Owner) (memory.Status, error) {
	if previous != nil && previous.Status == memory.Active && previous.Fact.Scope.Owner == f.Scope.Owner && previous.Fact.Content == f.Content {
		return memory.Active, nil
	}
	needsConsent, err := e.needsConsent(ctx, f, receiver)
	if err != nil {
		return "", err
	}
	if needsConsent {
		return memory.Pending, nil
	}
	return memory.Active, nil
}
