package storetest

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// export is an owner's data at a point in time.
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

// readExport reads an owner's data with any status, in small pages.
func (r *rig) readExport(owner memory.Owner, at memory.At) export {
	r.Helper()
	var out export
	var err error
	q := memory.Query{Kinds: allKinds, Statuses: allStatuses, At: at, Limit: 7}
	out.Memories, err = memory.Collect(memory.AllMemories(r.Context(), r.List, owner, q))
	r.must("list", err)
	out.Profile, err = r.Profile(r.Context(), owner, at)
	r.must("profile", err)
	out.Contexts, err = r.Contexts(r.Context(), owner, at)
	r.must("contexts", err)
	out.Turns, err = r.Turns(r.Context(), owner, memory.TurnQuery{Statuses: allStatuses, AsOf: at.AsOf})
	r.must("turns", err)
	for _, m := range out.Memories {
		if m.Kind() != memory.KindFact {
			continue
		}
		relations, err := r.Relations(r.Context(), owner, m.ID(), at)
		r.must("relations", err)
		out.Relations = append(out.Relations, relations...)
	}
	slices.SortFunc(out.Relations, func(a, b memory.Relation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
	out.Relations = slices.Compact(out.Relations) // both facts of a relation list the relation
	return out
}

// snapshot contains all readable data of an owner.
type snapshot struct {
	Export        export
	Journal       []memory.Change
	Conversations []memory.Conversation
	Jobs          []memory.Job
	Counts        memory.Counts
	Version       int64
	Items         []memory.IndexItem
}

func (r *rig) readSnapshot(owner memory.Owner) snapshot {
	r.Helper()
	out := snapshot{Export: r.readExport(owner, memory.At{})}
	var err error
	out.Journal, err = memory.Collect(memory.AllChanges(r.Context(), r.Changes, owner, memory.ChangeQuery{Limit: 5}))
	r.must("changes", err)
	page, err := r.Conversations(r.Context(), owner, memory.ConversationQuery{Statuses: []memory.Status{memory.Active, memory.Retired}, Limit: 500})
	r.must("conversations", err)
	out.Conversations = page.Conversations
	out.Jobs = r.jobs(owner, memory.JobQueued, memory.JobRunning, memory.JobDone, memory.JobParked)
	for i := range out.Jobs {
		out.Jobs[i].Lease.Token = "" // tokens differ between stores
	}
	out.Counts, err = r.Counts(r.Context(), owner)
	r.must("counts", err)
	out.Version, err = r.Since(r.Context(), owner, embedderFingerprint, 0, func(i memory.IndexItem) error {
		out.Items = append(out.Items, i)
		return nil
	})
	r.must("since", err)
	return out
}

// active returns the active memories, profile entries, contexts and turns of the export, and the relations of
// the active facts.
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
