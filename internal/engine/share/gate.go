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
type gate struct {
	memory.Store
	e *Sharer
}

// GuardStore returns the store with the checks of all writes.
func (e *Sharer) Gated(store memory.Store) memory.Store { return gate{store, e} }

// Apply implements [memory.Facts].
func (g gate) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	if run.Kind != EraseRun {
		if err := g.e.MayWrite(ctx, owner); err != nil {
			return memory.Receipt{}, err
		}
	}
	shared, err := g.e.sharedAmong(ctx, owner, changes)
	if err != nil {
		return memory.Receipt{}, err
	}
	if len(shared) > 0 {
		run.Jobs = append(slices.Clip(run.Jobs), SpreadJob(owner, run.ID, shared...))
	}
	if run.Author != BySharing {
		if changes, err = g.e.onlyShared(ctx, owner, changes); err != nil {
			return memory.Receipt{}, err
		}
	}
	if core.Remote(g.e.Embedder) && vectors.AddsContent(changes) {
		run.Jobs = append(slices.Clip(run.Jobs), vectors.EmbedJob(owner, run.ID))
	}
	receipt, err := g.Store.Apply(ctx, owner, run, changes...)
	if err != nil {
		return receipt, err
	}
	g.e.Closed.Follow(owner, changes, g.e.Time())
	if len(shared) > 0 {
		g.e.Wake()
	}
	return receipt, nil
}

// EraseRun is the kind of runs that erase text, or close or open an owner. Only such a run may write to
// a closed owner.
const EraseRun = "erase"

// Append implements [memory.Log].
func (g gate) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	if err := g.e.MayWrite(ctx, owner); err != nil {
		return memory.Receipt{}, err
	}
	first := g.e.Vectors.MissingVector(b)
	if first != "" {
		b.Jobs = append(slices.Clip(b.Jobs), vectors.EmbedJob(owner, first))
		g.e.Vectors.Queue(owner) // before the job can be claimed
	}
	receipt, err := g.Store.Append(ctx, owner, b)
	if err != nil {
		if first != "" {
			g.e.Vectors.Begin(owner)
		}
		return receipt, err
	}
	if first != "" {
		g.e.WakeWhenIdle()
	}
	return receipt, nil
}

// Erase implements [memory.Eraser]. It first erases the copies of shared facts.
func (g gate) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	switch closed, err := g.e.IsClosed(ctx, owner); {
	case err != nil:
		return memory.Receipt{}, err
	case closed: // erasing the owner erased the copies
		return g.Store.Erase(ctx, owner, run, ids...)
	}
	var shared, many []string
	for _, id := range ids {
		_, ever, err := g.e.EverShared(ctx, owner, id)
		if err != nil {
			return memory.Receipt{}, err
		}
		for _, to := range ever {
			if _, err := g.e.EraseLink(ctx, to, owner, id); err != nil {
				return memory.Receipt{}, err
			}
		}
		if len(ever) > 0 {
			shared = append(shared, id)
		}
		if traces.SeenByMany(ever) {
			many = append(many, id)
		}
	}
	if len(shared) > 0 { // for links that are added concurrently
		run.Jobs = append(slices.Clip(run.Jobs), SpreadJob(owner, run.ID, shared...))
	}
	if owner.Kind() != memory.UserKind && run.Author != BySharing { // a pool's fact, not a copy
		many = ids
	}
	if len(many) > 0 { // for traces that another server writes later
		again := SpreadJob(owner, run.ID+"-again", many...)
		again.RunAt = g.e.Time().Add(SpreadAgain)
		run.Jobs = append(run.Jobs, again)
	}
	receipt, err := g.Store.Erase(ctx, owner, run, ids...)
	if errors.Is(err, memory.Invalid) {
		return receipt, err
	}
	// Traces are erased last, so that a recall that read the facts earlier leaves no trace.
	traces, readers := g.e.Traces.EraseReaders(ctx, owner, many)
	receipt.Traces = traces
	return receipt, errors.Join(err, readers)
}

// Ping pings the wrapped store.
func (g gate) Ping(ctx context.Context) error { return core.Ping(ctx, g.Store) }

// Look calls the wrapped store.
func (g gate) Look(ctx context.Context, owner memory.Owner, l memory.Look) (memory.Seen, error) {
	return memory.LookAt(ctx, g.Store, owner, l)
}

// SupersededBy calls the wrapped store.
func (g gate) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	return memory.SupersededBy(ctx, g.Store, owner, turns)
}

// Predecessors calls the wrapped store.
func (g gate) Predecessors(ctx context.Context, owner memory.Owner, facts []string) (map[string][]memory.Fact, error) {
	return memory.Predecessors(ctx, g.Store, owner, facts)
}

// RecheckDelay is the delay after which a job checks again the links of a shared fact, and the traces of
// readers of an erased fact.
const SpreadAgain = time.Minute

// ShareJob returns the job that updates the links to facts after a run of their owner.
func SpreadJob(home memory.Owner, run string, facts ...string) memory.Job {
	return memory.Job{ID: "share-" + run, Owner: home, Kind: memory.JobShare, Turns: facts}
}

// sharedFacts returns the ids of the facts among changes that are shared or whose shares change. Added
// facts are not shared yet.
func (e *Sharer) sharedAmong(ctx context.Context, owner memory.Owner, changes []memory.Change) ([]string, error) {
	var about, out []string
	for _, c := range changes {
		switch {
		case c.After.Fact != nil && c.Action != memory.ActionAdd:
			about = append(about, c.After.Fact.ID)
		case c.After.Profile != nil && strings.HasPrefix(c.After.Profile.Key, SharedKeys):
			out = append(out, strings.TrimPrefix(c.After.Profile.Key, SharedKeys))
		}
	}
	if len(about) == 0 {
		return out, nil
	}
	shared, err := e.sharedBy(memory.ForWrite(ctx), owner)
	for _, id := range about {
		if _, is := shared[id]; is && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, err
}

// shareEntries returns an owner's share entries, by fact id.
func (e *Sharer) sharedBy(ctx context.Context, owner memory.Owner) (map[string]memory.ProfileEntry, error) {
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		return nil, fmt.Errorf("read the shared facts of %s: %w", owner.Called(), err)
	}
	shared := map[string]memory.ProfileEntry{}
	for _, entry := range entries {
		if id, ok := strings.CutPrefix(entry.Key, SharedKeys); ok {
			shared[id] = entry
		}
	}
	return shared, nil
}

// refreshLinks returns the changes with refreshed links. A link to a fact that is no longer shared becomes
// inactive. Other links get the fact's current text, since an undo would restore old text, and become
// pending if the receiver never accepted this text.
func (e *Sharer) onlyShared(ctx context.Context, owner memory.Owner, changes []memory.Change) ([]memory.Change, error) {
	if !slices.ContainsFunc(changes, activatesLink) {
		return changes, nil
	}
	changes = slices.Clone(changes)
	for i, c := range changes {
		if !activatesLink(c) {
			continue
		}
		link := *c.After.Link
		fact, shared, err := e.AsShared(ctx, owner, link.Fact)
		switch {
		case err != nil:
			return nil, err
		case !shared && (c.Action == memory.ActionLink || c.Action == memory.ActionApprove):
			return nil, memory.Errorf(memory.Forbidden, "%s is not shared with %s", link.Fact.ID, owner.Called())
		case !shared:
			link.Status = memory.Retired
		default:
			if link.Status == memory.Active {
				if link.Status, err = e.linkStatus(ctx, &link, fact, owner); err != nil {
					return nil, err
				}
			}
			link.Fact, link.HomeVersion = CopyOf(fact), fact.Version
		}
		changes[i].After = memory.Image{Link: &link}
	}
	return changes, nil
}

func activatesLink(c memory.Change) bool {
	return c.After.Link != nil && c.After.Link.Status.Live()
}

// SharedFact returns the current version of a fact, and whether the fact is shared with a receiver.
func (e *Sharer) AsShared(ctx context.Context, to memory.Owner, f memory.Fact) (memory.Fact, bool, error) {
	home := f.Scope.Owner
	with, _, err := e.EverShared(ctx, home, f.ID)
	if err != nil || !slices.Contains(with, to) {
		return memory.Fact{}, false, err
	}
	found, err := e.Store.Get(ctx, home, f.ID)
	if err != nil || len(found) == 0 || found[0].Fact == nil || !showable(*found[0].Fact) {
		return memory.Fact{}, false, err
	}
	return *found[0].Fact, true, nil
}
