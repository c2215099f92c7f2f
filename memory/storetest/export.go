package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// export is what an owner knows at a point in time.
type export struct {
	Memories  []memory.Memory
	Profile   []memory.ProfileEntry
	Relations []memory.Relation
	Turns     []memory.Turn
	Contexts  []memory.Context
}

var (
	allKinds    = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}
	allStatuses = []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
)

// exportAt reads everything, by small pages, whatever its status.
func exportAt(ctx context.Context, s memory.Store, owner memory.Owner, at memory.At) (export, error) {
	var out export
	var err error
	q := memory.Query{Kinds: allKinds, Statuses: allStatuses, At: at, Limit: 7}
	if out.Memories, err = listAll(ctx, s, owner, q); err != nil {
		return export{}, fmt.Errorf("list: %w", err)
	}
	if out.Profile, err = s.Profile(ctx, owner, at); err != nil {
		return export{}, fmt.Errorf("profile: %w", err)
	}
	if out.Contexts, err = s.Contexts(ctx, owner, at); err != nil {
		return export{}, fmt.Errorf("contexts: %w", err)
	}
	if out.Turns, err = s.Turns(ctx, owner, memory.TurnQuery{Statuses: allStatuses, AsOf: at.AsOf}); err != nil {
		return export{}, fmt.Errorf("turns: %w", err)
	}
	for _, m := range out.Memories {
		if m.Kind() != memory.KindFact {
			continue
		}
		relations, err := s.Relations(ctx, owner, m.ID(), at)
		if err != nil {
			return export{}, fmt.Errorf("relations of %s: %w", m.ID(), err)
		}
		out.Relations = append(out.Relations, relations...)
	}
	slices.SortFunc(out.Relations, compareRelations)
	out.Relations = slices.Compact(out.Relations) // each is of two facts
	return out, nil
}

func listAll(ctx context.Context, s memory.Store, owner memory.Owner, q memory.Query) ([]memory.Memory, error) {
	return memory.Collect(memory.AllMemories(ctx, s.List, owner, q))
}

func changesAll(ctx context.Context, s memory.Store, owner memory.Owner, q memory.ChangeQuery) ([]memory.Change, error) {
	return memory.Collect(memory.AllChanges(ctx, s.Changes, owner, q))
}

// snapshot is everything that can be read of an owner.
type snapshot struct {
	Export        export
	Journal       []memory.Change
	Conversations []memory.Conversation
	Jobs          []memory.Job
	Counts        memory.Counts
	Version       int64
	Items         []memory.Item
}

func takeSnapshot(ctx context.Context, s memory.Store, owner memory.Owner) (snapshot, error) {
	var out snapshot
	var err error
	if out.Export, err = exportAt(ctx, s, owner, memory.At{}); err != nil {
		return snapshot{}, err
	}
	if out.Journal, err = changesAll(ctx, s, owner, memory.ChangeQuery{Limit: 5}); err != nil {
		return snapshot{}, fmt.Errorf("changes: %w", err)
	}
	page, err := s.Conversations(ctx, owner, memory.ConversationQuery{Statuses: []memory.Status{memory.Active, memory.Retired}, Limit: 500})
	if err != nil {
		return snapshot{}, fmt.Errorf("conversations: %w", err)
	}
	out.Conversations = page.Conversations
	states := []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobDone, memory.JobParked}
	if out.Jobs, err = s.Jobs(ctx, owner, states...); err != nil {
		return snapshot{}, fmt.Errorf("jobs: %w", err)
	}
	for i := range out.Jobs {
		out.Jobs[i].Lease.Token = "" // a store's own
	}
	if out.Counts, err = s.Counts(ctx, owner); err != nil {
		return snapshot{}, fmt.Errorf("counts: %w", err)
	}
	out.Version, err = s.Since(ctx, owner, model, 0, func(i memory.Item) error {
		out.Items = append(out.Items, i)
		return nil
	})
	if err != nil {
		return snapshot{}, fmt.Errorf("since: %w", err)
	}
	return out, nil
}

func (r *rig) export(owner memory.Owner, at memory.At) export {
	r.Helper()
	out, err := exportAt(r.Context(), r.Store, owner, at)
	r.must("export", err)
	return out
}

func (r *rig) snapshot(owner memory.Owner) snapshot {
	r.Helper()
	out, err := takeSnapshot(r.Context(), r.Store, owner)
	r.must("snapshot", err)
	return out
}

// active leaves in an export what is active, which is what people see, and the
// relations that one end of is.
func (e export) active() export {
	out := export{
		Memories: slices.DeleteFunc(slices.Clone(e.Memories), func(m memory.Memory) bool { return m.Status() != memory.Active }),
		Profile:  e.Profile,
		Contexts: e.Contexts,
		Turns:    slices.DeleteFunc(slices.Clone(e.Turns), func(t memory.Turn) bool { return t.Status != memory.Active }),
	}
	for _, r := range e.Relations {
		if slices.ContainsFunc(out.Memories, func(m memory.Memory) bool { return m.ID() == r.From || m.ID() == r.To }) {
			out.Relations = append(out.Relations, r)
		}
	}
	return out
}

func compareRelations(a, b memory.Relation) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
}
