package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/memory"
)

// guardedStore wraps the store for all writes of the engine:
//
//   - a change of a shared fact queues, in the same transaction, the job that updates its links;
//   - a link is not restored if its fact is no longer shared;
//   - a write of memories without vectors queues the job that embeds them;
//   - an erased owner cannot be written to (see [core.Core.CheckOpen]).
type guardedStore struct {
	memory.Store
	sharer *Sharer
}

// GuardStore returns the store with the checks of [guardedStore].
func (e *Sharer) GuardStore(store memory.Store) memory.Store { return guardedStore{store, e} }

// Apply implements [memory.Facts].
func (g guardedStore) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	if run.Kind != EraseRun {
		if err := g.sharer.CheckOpen(ctx, owner); err != nil {
			return memory.Receipt{}, err
		}
	}
	shared, err := g.sharer.sharedFactIDs(ctx, owner, changes)
	if err != nil {
		return memory.Receipt{}, err
	}
	if len(shared) > 0 {
		run.Jobs = append(slices.Clip(run.Jobs), NewJob(owner, run.ID, shared...))
	}
	if run.Author != BySharing {
		if changes, err = g.sharer.withRefreshedLinks(ctx, owner, changes); err != nil {
			return memory.Receipt{}, err
		}
	}
	if core.IsRemote(g.sharer.Embedder) && vectors.AddsEmbeddableText(changes) {
		run.Jobs = append(slices.Clip(run.Jobs), vectors.EmbedJob(owner, run.ID))
	}
	receipt, err := g.Store.Apply(ctx, owner, run, changes...)
	if err != nil {
		return receipt, err
	}
	g.sharer.ClosedOwners.RecordChanges(owner, changes, g.sharer.Time())
	if len(shared) > 0 {
		g.sharer.WakeJobRunner()
	}
	return receipt, nil
}

// EraseRun is the kind of runs that erase text, or close or open an owner. Only such a run may write to
// a closed owner.
const EraseRun = "erase"

// Append implements [memory.TurnLog].
func (g guardedStore) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	if err := g.sharer.CheckOpen(ctx, owner); err != nil {
		return memory.Receipt{}, err
	}
	firstMissing := g.sharer.Vectors.FirstTurnWithoutVector(b)
	if firstMissing != "" {
		b.Jobs = append(slices.Clip(b.Jobs), vectors.EmbedJob(owner, firstMissing))
		g.sharer.Vectors.MarkQueued(owner) // before the job can be claimed
	}
	receipt, err := g.Store.Append(ctx, owner, b)
	if err != nil {
		if firstMissing != "" {
			g.sharer.Vectors.MarkStarted(owner)
		}
		return receipt, err
	}
	if firstMissing != "" {
		g.sharer.WakeWhenIdle()
	}
	return receipt, nil
}

// Erase implements [memory.Eraser]. It first erases the copies of shared facts.
func (g guardedStore) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	switch closed, err := g.sharer.IsClosed(ctx, owner); {
	case err != nil:
		return memory.Receipt{}, err
	case closed: // EraseOwner has erased the receivers' copies
		return g.Store.Erase(ctx, owner, run, ids...)
	}
	var shared, widelyShared []string
	for _, id := range ids {
		_, receivers, err := g.sharer.AllReceivers(ctx, owner, id)
		if err != nil {
			return memory.Receipt{}, err
		}
		for _, receiver := range receivers {
			if _, err := g.sharer.EraseLink(ctx, receiver, owner, id); err != nil {
				return memory.Receipt{}, err
			}
		}
		if len(receivers) > 0 {
			shared = append(shared, id)
		}
		if traces.HasManyReaders(receivers) {
			widelyShared = append(widelyShared, id)
		}
	}
	if len(shared) > 0 { // the job also erases copies in links that are added concurrently
		run.Jobs = append(slices.Clip(run.Jobs), NewJob(owner, run.ID, shared...))
	}
	if owner.Kind() != memory.UserKind && run.Author != BySharing { // a pool's fact, not a copy
		widelyShared = ids
	}
	if len(widelyShared) > 0 { // the job also erases traces that another server writes later
		laterJob := NewJob(owner, run.ID+"-again", widelyShared...)
		laterJob.RunAt = g.sharer.Time().Add(RecheckDelay)
		run.Jobs = append(run.Jobs, laterJob)
	}
	receipt, err := g.Store.Erase(ctx, owner, run, ids...)
	if errors.Is(err, memory.Invalid) {
		return receipt, err
	}
	// Traces are erased last, so that a recall that read the facts earlier leaves no trace.
	traceCount, readersErr := g.sharer.Traces.EraseReaderTraces(ctx, owner, widelyShared)
	receipt.Traces = traceCount
	return receipt, errors.Join(err, readersErr)
}

// Ping pings the wrapped store.
func (g guardedStore) Ping(ctx context.Context) error { return core.Ping(ctx, g.Store) }

// ReadBatch calls the wrapped store.
func (g guardedStore) ReadBatch(ctx context.Context, owner memory.Owner, l memory.ReadSet) (memory.ReadResults, error) {
	return memory.ReadBatch(ctx, g.Store, owner, l)
}

// SupersededBy calls the wrapped store.
func (g guardedStore) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	return memory.SupersededBy(ctx, g.Store, owner, turns)
}

// Predecessors calls the wrapped store.
func (g guardedStore) Predecessors(ctx context.Context, owner memory.Owner, facts []string) (map[string][]memory.Fact, error) {
	return memory.Predecessors(ctx, g.Store, owner, facts)
}

// RecheckDelay is the delay after which a job checks again the links of a shared fact, and the traces of
// readers of an erased fact.
const RecheckDelay = time.Minute

// NewJob returns the job that updates the links to facts after a run of their owner.
func NewJob(home memory.Owner, runID string, factIDs ...string) memory.Job {
	return memory.Job{ID: "share-" + runID, Owner: home, Kind: memory.JobShare, Turns: factIDs}
}

// sharedFactIDs returns the ids of the facts among changes that are shared or whose shares change. Added
// facts are not shared yet.
func (e *Sharer) sharedFactIDs(ctx context.Context, owner memory.Owner, changes []memory.Change) ([]string, error) {
	var factIDs, sharedIDs []string
	for _, c := range changes {
		switch {
		case c.After.Fact != nil && c.Action != memory.ActionAdd:
			factIDs = append(factIDs, c.After.Fact.ID)
		case c.After.Profile != nil && strings.HasPrefix(c.After.Profile.Key, ShareKeyPrefix):
			sharedIDs = append(sharedIDs, strings.TrimPrefix(c.After.Profile.Key, ShareKeyPrefix))
		}
	}
	if len(factIDs) == 0 {
		return sharedIDs, nil
	}
	entries, err := e.shareEntries(memory.ForWrite(ctx), owner)
	for _, id := range factIDs {
		if _, isShared := entries[id]; isShared && !slices.Contains(sharedIDs, id) {
			sharedIDs = append(sharedIDs, id)
		}
	}
	return sharedIDs, err
}

// shareEntries returns an owner's share entries, by fact id.
func (e *Sharer) shareEntries(ctx context.Context, owner memory.Owner) (map[string]memory.ProfileEntry, error) {
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		return nil, fmt.Errorf("read the shared facts of %s: %w", owner.DisplayName(), err)
	}
	byID := map[string]memory.ProfileEntry{}
	for _, entry := range entries {
		if id, ok := strings.CutPrefix(entry.Key, ShareKeyPrefix); ok {
			byID[id] = entry
		}
	}
	return byID, nil
}

// withRefreshedLinks returns the changes with refreshed links. A link to a fact that is no longer shared
// becomes inactive. Other links get the fact's current text, since an undo would restore old text, and become
// pending if the receiver never accepted this text.
func (e *Sharer) withRefreshedLinks(ctx context.Context, owner memory.Owner, changes []memory.Change) ([]memory.Change, error) {
	if !slices.ContainsFunc(changes, activatesLink) {
		return changes, nil
	}
	changes = slices.Clone(changes)
	for i, c := range changes {
		if !activatesLink(c) {
			continue
		}
		link := *c.After.Link
		fact, isShared, err := e.SharedFact(ctx, owner, link.Fact)
		switch {
		case err != nil:
			return nil, err
		case !isShared && (c.Action == memory.ActionLink || c.Action == memory.ActionApprove):
			return nil, memory.Errorf(memory.Forbidden, "%s is not shared with %s", link.Fact.ID, owner.DisplayName())
		case !isShared:
			link.Status = memory.Retired
		default:
			if link.Status == memory.Active {
				if link.Status, err = e.linkStatus(ctx, &link, fact, owner); err != nil {
					return nil, err
				}
			}
			link.Fact, link.HomeVersion = SharedCopy(fact), fact.Version
		}
		changes[i].After = memory.State{Link: &link}
	}
	return changes, nil
}

func activatesLink(c memory.Change) bool {
	return c.After.Link != nil && c.After.Link.Status.Live()
}

// SharedFact returns the current version of a fact, and whether the fact is shared with a receiver.
func (e *Sharer) SharedFact(ctx context.Context, receiver memory.Owner, f memory.Fact) (memory.Fact, bool, error) {
	home := f.Scope.Owner
	receivers, _, err := e.AllReceivers(ctx, home, f.ID)
	if err != nil || !slices.Contains(receivers, receiver) {
		return memory.Fact{}, false, err
	}
	memories, err := e.Store.Get(ctx, home, f.ID)
	if err != nil || len(memories) == 0 || memories[0].Fact == nil || !isShareable(*memories[0].Fact) {
		return memory.Fact{}, false, err
	}
	return *memories[0].Fact, true, nil
}
