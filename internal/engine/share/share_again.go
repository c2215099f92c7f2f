package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// Meanwhile queues the job that shows an owner who was opened what was shared with them
// while they were closed.
func (e *Sharer) Meanwhile(ctx context.Context, owner memory.Owner) error {
	run := memory.Run{ID: core.NewID(), Kind: "share", Author: BySharing}
	run.Jobs = []memory.Job{SpreadJob(owner, run.ID)}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		return fmt.Errorf("look for what was shared meanwhile: %w", err)
	}
	e.Wake()
	return nil
}

// spreadTo shows an owner who was opened what was shared with them since they were
// erased: nothing could be written there, and what was shared before was ended then.
func (e *Sharer) spreadTo(ctx context.Context, to memory.Owner) error {
	ctx = memory.ForWrite(ctx)
	homes, err := e.Store.Owners(ctx)
	if err != nil {
		return fmt.Errorf("find who shares: %w", err)
	}
	var errs []error
	for _, home := range homes {
		if home == to || home.Namespace() != to.Namespace() {
			continue
		}
		entries, err := e.Store.Profile(ctx, home, memory.At{})
		if err != nil {
			errs = append(errs, fmt.Errorf("read what is shared: %w", err))
			continue
		}
		for _, entry := range entries {
			if id, ok := strings.CutPrefix(entry.Key, SharedKeys); ok && slices.Contains(sharedIn(entry.Value), to) {
				errs = append(errs, e.giveAgain(ctx, to, memory.Fact{ID: id, Scope: memory.Scope{Owner: home}}))
			}
		}
	}
	return errors.Join(errs...)
}

// giveAgain makes an owner's link to a fact of another's, where that is shared with them.
func (e *Sharer) giveAgain(ctx context.Context, to memory.Owner, f memory.Fact) error {
	now, given, err := e.AsShared(ctx, to, f)
	if err != nil || !given {
		return err
	}
	return e.keepLink(ctx, to, now, true)
}
