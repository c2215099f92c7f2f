package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// QueueMissedShares queues the job that links the facts that were shared while the owner was closed.
func (e *Sharer) QueueMissedShares(ctx context.Context, owner memory.Owner) error {
	run := memory.Run{ID: core.NewID(), Kind: "share", Author: BySharing}
	run.Jobs = []memory.Job{SpreadJob(owner, run.ID)}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		return fmt.Errorf("queue the missed shares: %w", err)
	}
	e.Wake()
	return nil
}

// shareMissed links the facts that were shared while the receiver was closed, when nothing could be
// written. Shares from before the erasure have ended.
func (e *Sharer) spreadMissed(ctx context.Context, to memory.Owner) error {
	ctx = memory.ForWrite(ctx)
	homes, err := e.Store.Owners(ctx)
	if err != nil {
		return fmt.Errorf("list owners who may share: %w", err)
	}
	var errs []error
	for _, home := range homes {
		if home == to || home.Namespace() != to.Namespace() {
			continue
		}
		shared, err := e.sharedBy(ctx, home)
		errs = append(errs, err)
		for id, entry := range shared {
			if slices.Contains(sharedIn(entry.Value), to) {
				errs = append(errs, e.backfillShares(ctx, to, memory.Fact{ID: id, Scope: memory.Scope{Owner: home}}))
			}
		}
	}
	return errors.Join(errs...)
}

// backfillShares creates an owner's link to another owner's fact, if it is shared with them.
func (e *Sharer) backfillShares(ctx context.Context, to memory.Owner, f memory.Fact) error {
	now, shared, err := e.AsShared(ctx, to, f)
	if err != nil || !shared {
		return err
	}
	return e.keepLink(ctx, to, now, true)
}

// shareReplacement copies a fact's shares to its replacement, except for receivers who hid the fact. It
// does so only once, so that an ended share is not renewed. It has a separate run, so that undoing the
// replacement does not undo the sharing.
func (e *Sharer) shareReplacement(ctx context.Context, old memory.Fact, with []memory.Owner) error {
	home, id := old.Scope.Owner, old.SupersededBy
	_, ever, err := e.EverShared(ctx, home, id)
	if err != nil || len(ever) > 0 {
		return err
	}
	found, err := e.Store.Get(ctx, home, id)
	if err != nil || len(found) == 0 || found[0].Fact == nil || found[0].Link != nil {
		return err
	}
	var to []memory.Owner
	for _, o := range with {
		if e.Opts.Accept == AcceptOff && BetweenUsers(home, o) {
			continue
		}
		hidden, err := e.hidden(ctx, o, old)
		if err != nil {
			return err
		}
		if !hidden {
			to = append(to, o)
		}
	}
	if len(to) == 0 {
		return nil
	}
	slices.Sort(to)
	value, err := json.Marshal(to)
	if err != nil {
		return err
	}
	entry := memory.ProfileEntry{Owner: home, Key: SharedKeys + id, Value: string(value), Status: memory.Active, UpdatedAt: e.Time()}
	change := memory.Change{Action: memory.ActionAdd, After: memory.Image{Profile: &entry}, NewID: id, Reason: "shared as what it took the place of", Author: BySharing}
	_, err = e.Store.Apply(ctx, home, memory.Run{ID: core.NewID(), Kind: "share", Author: BySharing}, change)
	if err != nil && !errors.Is(err, memory.Conflict) { // another run shared the fact already
		return fmt.Errorf("share %s like its predecessor %s: %w", id, old.ID, err)
	}
	return nil
}

// isHidden reports whether a receiver hid a fact by ending the link to it.
func (e *Sharer) hidden(ctx context.Context, to memory.Owner, f memory.Fact) (bool, error) {
	found, err := e.Store.Get(ctx, to, f.ID)
	if err != nil || len(found) == 0 || found[0].Link == nil || found[0].Link.Status.Live() {
		return false, err
	}
	_, hid, err := e.linkEnding(ctx, *found[0].Link, f.Scope.Owner)
	return hid, err
}
