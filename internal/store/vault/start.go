package vault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci/memory"
)

var (
	allKinds    = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}
	allStatuses = []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
)

// reconcile compares the versions of the files with the wrapped store's versions. It marks files that
// are older than the store as dirty, and rebuilds from files the memories that the store lacks.
func (s *Store) reconcile(ctx context.Context) error {
	owners, err := s.allOwners(ctx)
	if err != nil {
		return err
	}
	versions, err := s.Store.Versions(ctx, owners)
	if err != nil {
		return fmt.Errorf("read the versions of the wrapped store: %w", err)
	}
	x := s.files.records
	isNew := len(x.byPath)+len(x.writtenVersions) == 0
	empty := !slices.ContainsFunc(versions, func(v int64) bool { return v > 0 })
	older := map[memory.Owner]bool{}
	for i, owner := range owners {
		if older[owner] = versions[i] < x.writtenVersions[owner]; older[owner] || s.isErasing() {
			delete(x.writtenVersions, owner)
		}
		s.files.setLatestVersion(owner, versions[i])
		if x.writtenVersions[owner] < versions[i] {
			s.files.markDirty(key{owner, ""})
		}
	}
	switch rebuildAll := empty || x.rebuild.InProgress; {
	case rebuildAll || slices.Contains(slices.Collect(maps.Values(older)), true):
		err = s.rebuild(ctx, func(o memory.Owner) bool { return rebuildAll || older[o] }, rebuildAll)
	case isNew: // the records are missing: take the ids from the files' front matter
		err = s.recordFolder(ctx)
	}
	for k, r := range x.byTarget {
		if r.Dirty || r.Unlearned {
			s.files.markDirty(k)
		}
	}
	return err
}

// allOwners returns the owners in the wrapped store or in the records.
func (s *Store) allOwners(ctx context.Context) ([]memory.Owner, error) {
	set := map[memory.Owner]bool{s.opts.HomeOwner: true}
	owners, err := s.Store.Owners(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the owners of the wrapped store: %w", err)
	}
	for _, o := range owners {
		set[o] = true
	}
	for o := range s.files.records.writtenVersions {
		set[o] = true
	}
	return slices.Sorted(maps.Keys(set)), nil
}

// changedSince returns the targets that changed after an owner's version, or all targets if the
// wrapped store no longer has the changes since the version.
func (s *Store) changedSince(ctx context.Context, owner memory.Owner, afterVersion int64) ([]string, error) {
	targets := map[string]bool{}
	var ids []string
	if afterVersion > 0 {
		_, err := s.Store.Since(ctx, owner, "", afterVersion, func(i memory.IndexItem) error {
			ids = append(ids, i.ID)
			return nil
		})
		if errors.Is(err, memory.Gone) {
			afterVersion, ids = 0, nil
		} else if err != nil {
			return nil, err
		}
	}
	if afterVersion == 0 {
		for m, err := range memory.AllMemories(ctx, s.Store.List, owner, memory.Query{Kinds: allKinds, Statuses: allStatuses}) {
			if err != nil {
				return nil, fmt.Errorf("read the owner's memories: %w", err)
			}
			addTargets(targets, []memory.Memory{m})
		}
	}
	for chunk := range slices.Chunk(ids, maxChunk) {
		memories, err := s.Store.Get(ctx, owner, chunk...)
		if err != nil {
			return nil, err
		}
		addTargets(targets, memories)
	}
	for c, err := range memory.AllChanges(ctx, s.Store.Changes, owner, memory.ChangeQuery{}) {
		if err != nil {
			return nil, fmt.Errorf("read the owner's changes: %w", err)
		}
		if c.Version <= afterVersion {
			break
		}
		for _, t := range targetsOf([]memory.Change{c}) {
			targets[t] = true
		}
	}
	for c, err := range memory.AllConversations(ctx, s.Store.Conversations, owner, memory.ConversationQuery{Statuses: allStatuses}) {
		if err != nil {
			return nil, fmt.Errorf("read the owner's conversations: %w", err)
		}
		if afterVersion == 0 || s.files.records.byTarget[key{owner, conversationTarget + c.ID}] == nil { // a conversation may change without a new version
			targets[conversationTarget+c.ID] = true
		}
	}
	return slices.Sorted(maps.Keys(targets)), nil
}

func addTargets(targetSet map[string]bool, memories []memory.Memory) {
	for _, m := range memories {
		switch {
		case m.Turn != nil:
			targetSet[turnTarget+m.ID()], targetSet[conversationTarget+m.Turn.Conversation] = true, true
		case m.Summary != nil:
			targetSet[summaryTarget+m.ID()] = true
		case m.Fact != nil && m.Link == nil:
			targetSet[factTarget+m.ID()] = true
		}
	}
}
