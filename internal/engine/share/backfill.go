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
	run.Jobs = []memory.Job{NewJob(owner, run.ID)}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		return fmt.Errorf("queue the missed shares: %w", err)
	}
	e.WakeJobRunner()
	return nil
}

// shareMissedFacts links the facts that were shared while the receiver was closed, when nothing could be
// written. Shares from before the erasure have ended.
func (e *Sharer) shareMissedFacts(ctx context.Context, receiver memory.Owner) error {
	ctx = memory.ForWrite(ctx)
	homes, err := e.Store.Owners(ctx)
	if err != nil {
		return fmt.Errorf("list the owners of shared facts: %w", err)
	}
	var errs []error
	for _, home := range homes {
		if home == receiver || home.Namespace() != receiver.Namespace() {
			continue
		}
		entries, err := e.shareEntries(ctx, home)
		errs = append(errs, err)
		for id, entry := range entries {
			if slices.Contains(parseReceivers(entry.Value), receiver) {
				errs = append(errs, e.backfillLink(ctx, receiver, memory.Fact{ID: id, Scope: memory.Scope{Owner: home}}))
			}
		}
	}
	return errors.Join(errs...)
}

// backfillLink creates a receiver's link to another owner's fact, if the fact is shared with the receiver.
func (e *Sharer) backfillLink(ctx context.Context, receiver memory.Owner, f memory.Fact) error {
	current, shared, err := e.SharedFact(ctx, receiver, f)
	if err != nil || !shared {
		return err
	}
	return e.updateLink(ctx, receiver, current, true)
}

// shareReplacement copies a fact's shares to its replacement, except for receivers who hid the fact. It
// does so only once, so that an ended share is not renewed. It has a separate run, so that undoing the
// replacement does not undo the sharing.
func (e *Sharer) shareReplacement(ctx context.Context, replacedFact memory.Fact, receivers []memory.Owner) error {
	home, id := replacedFact.Scope.Owner, replacedFact.SupersededBy
	_, everReceivers, err := e.AllReceivers(ctx, home, id)
	if err != nil || len(everReceivers) > 0 {
		return err
	}
	memories, err := e.Store.Get(ctx, home, id)
	if err != nil || len(memories) == 0 || memories[0].Fact == nil || memories[0].Link != nil {
		return err
	}
	var remaining []memory.Owner
	for _, o := range receivers {
		if e.Opts.Acceptance == AcceptOff && IsBetweenUsers(home, o) {
			continue
		}
		isHidden, err := e.isHidden(ctx, o, replacedFact)
		if err != nil {
			return err
		}
		if !isHidden {
			remaining = append(remaining, o)
		}
	}
	if len(remaining) == 0 {
		return nil
	}
	slices.Sort(remaining)
	value, err := json.Marshal(remaining)
	if err != nil {
		return err
	}
	entry := memory.ProfileEntry{Owner: home, Key: ShareKeyPrefix + id, Value: string(value), Status: memory.Active, UpdatedAt: e.Time()}
	change := memory.Change{Action: memory.ActionAdd, After: memory.State{Profile: &entry}, NewID: id, Reason: "shared as what it took the place of", Author: BySharing}
	_, err = e.Store.Apply(ctx, home, memory.Run{ID: core.NewID(), Kind: "share", Author: BySharing}, change)
	if err != nil && !errors.Is(err, memory.Conflict) { // another run shared the fact already
		return fmt.Errorf("share %s like its predecessor %s: %w", id, replacedFact.ID, err)
	}
	return nil
}

// isHidden reports whether a receiver hid a fact by ending the link to it.
func (e *Sharer) isHidden(ctx context.Context, receiver memory.Owner, f memory.Fact) (bool, error) {
	memories, err := e.Store.Get(ctx, receiver, f.ID)
	if err != nil || len(memories) == 0 || memories[0].Link == nil || memories[0].Link.Status.Live() {
		return false, err
	}
	_, byReceiver, err := e.lastLinkEnding(ctx, *memories[0].Link, f.Scope.Owner)
	return byReceiver, err
}
