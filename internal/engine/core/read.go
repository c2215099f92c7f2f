package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Get returns one memory of any status, or NotFound.
func (e *Core) Get(ctx context.Context, owner memory.Owner, id string) (memory.Memory, error) {
	memories, err := e.Store.Get(ctx, owner, id)
	if err != nil {
		return memory.Memory{}, err
	}
	if len(memories) == 0 {
		return memory.Memory{}, memory.Errorf(memory.NotFound, "there is no memory %q", id)
	}
	return memories[0], nil
}

// Fact returns one of the owner's own facts.
func (e *Core) Fact(ctx context.Context, owner memory.Owner, id string) (memory.Fact, error) {
	m, err := e.Get(ctx, owner, id)
	switch {
	case err != nil:
		return memory.Fact{}, err
	case m.Link != nil:
		return memory.Fact{}, memory.Errorf(memory.Forbidden, "%s belongs to %s; only that owner can change it", id, m.Fact.Scope.Owner)
	case m.Fact == nil:
		return memory.Fact{}, memory.Errorf(memory.Invalid, "%s is a %s, which cannot be edited", id, m.Kind())
	}
	return *m.Fact, nil
}

// List returns a page of an owner's memories, newest first.
func (e *Core) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	return e.Store.List(ctx, owner, q)
}

// History returns the changes of a memory, newest first, or NotFound.
func (e *Core) History(ctx context.Context, owner memory.Owner, id, cursor string) (memory.ChangePage, error) {
	if _, err := e.Get(ctx, owner, id); err != nil {
		return memory.ChangePage{}, err
	}
	return e.Store.Changes(ctx, owner, memory.ChangeQuery{Fact: id, Cursor: cursor})
}

// Changes returns the journal, newest first.
func (e *Core) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	return e.Store.Changes(ctx, owner, q)
}

// Stats returns the counts of an owner's memories.
func (e *Core) Stats(ctx context.Context, owner memory.Owner) (memory.Counts, error) {
	return e.Store.Counts(ctx, owner)
}

// maxKey is the maximum length of a profile key in bytes.
const maxKey = 128

// ProfileEntries returns the profile at a time, ordered by key, without Loci's own entries.
func (e *Core) ProfileEntries(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	entries, err := e.Store.Profile(ctx, owner, at)
	var out []memory.ProfileEntry
	for _, p := range entries {
		if !strings.HasPrefix(p.Key, ReservedPrefix) {
			out = append(out, p)
		}
	}
	return out, err
}

// SetProfileEntry writes a profile entry, in a run that can be undone. If the entry already has this
// value, nothing changes and the receipt is zero.
func (e *Core) SetProfileEntry(ctx context.Context, owner memory.Owner, key, value string, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	key, err := e.CheckText("key", key)
	if err != nil {
		return memory.Receipt{}, err
	}
	if len(key) > maxKey || strings.ContainsFunc(key, unicode.IsControl) {
		return memory.Receipt{}, memory.Errorf(memory.Invalid, "key: must be one line of at most %d bytes", maxKey)
	}
	if value, err = e.CheckText("value", value); err != nil {
		return memory.Receipt{}, err
	}
	var receipt memory.Receipt
	err = RetryOnConflict(ctx, func() error {
		receipt, err = e.trySetProfileEntry(ctx, owner, NewID(), key, value, author)
		return err
	})
	return receipt, err
}

// trySetProfileEntry writes a profile entry that was checked, or returns a Conflict.
func (e *Core) trySetProfileEntry(ctx context.Context, owner memory.Owner, runID, key, value string, author memory.Author) (memory.Receipt, error) {
	previous, err := e.ReadProfileEntry(ctx, owner, key)
	next := previous
	change := memory.Change{Action: memory.ActionUpdate, After: memory.State{Profile: &next}, Base: previous.Version, Reason: "edited by hand"}
	switch {
	case errors.Is(err, memory.NotFound):
		next = memory.ProfileEntry{Owner: owner, Key: key}
		change.Action, change.Reason = memory.ActionAdd, "written by hand"
	case err != nil:
		return memory.Receipt{}, err
	case previous.Value == value:
		return memory.Receipt{}, nil
	}
	next.Value, next.Tokens, next.Status, next.UpdatedAt = value, text.EstimateTokens(value), memory.Active, e.Time()
	return ApplyOrRestore(ctx, e, owner, memory.Run{ID: runID, Kind: "manual", Author: author}, change)
}

// ApplyOrRestore applies a change. If the change adds an entry that was removed, it restores the entry.
func ApplyOrRestore(ctx context.Context, e *Core, owner memory.Owner, run memory.Run, change memory.Change) (memory.Receipt, error) {
	receipt, err := e.Store.Apply(ctx, owner, run, change)
	if change.Action == memory.ActionAdd && errors.Is(err, memory.Conflict) {
		change.Action = memory.ActionRestore
		receipt, err = e.Store.Apply(ctx, owner, run, change)
	}
	return receipt, err
}

// RetireProfileEntry retires a profile entry, in a run that can be undone, or returns [memory.NotFound].
func (e *Core) RetireProfileEntry(ctx context.Context, owner memory.Owner, key string, author memory.Author) (memory.Receipt, error) {
	return e.RetireProfileEntryInRun(ctx, owner, memory.Run{ID: NewID(), Kind: "forget", Author: author}, key)
}

// RetireProfileEntryInRun retires a profile entry in the caller's run, like [Core.RetireProfileEntry].
func (e *Core) RetireProfileEntryInRun(ctx context.Context, owner memory.Owner, run memory.Run, key string) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	entry, err := e.ReadProfileEntry(ctx, owner, key)
	if err != nil {
		return memory.Receipt{}, err
	}
	base := entry.Version
	entry.Status, entry.UpdatedAt = memory.Retired, e.Time()
	return e.Store.Apply(ctx, owner, run, memory.Change{
		Action: memory.ActionRetire, After: memory.State{Profile: &entry}, Base: base, Reason: "forgotten by hand",
	})
}

// ReadProfileEntry returns an active profile entry, or [memory.NotFound].
func (e *Core) ReadProfileEntry(ctx context.Context, owner memory.Owner, key string) (memory.ProfileEntry, error) {
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	return entryByKey(entries, key, err)
}

func entryByKey(entries []memory.ProfileEntry, key string, err error) (memory.ProfileEntry, error) {
	if err != nil {
		return memory.ProfileEntry{}, fmt.Errorf("read the profile: %w", err)
	}
	for _, p := range entries {
		if p.Key == key {
			return p, nil
		}
	}
	return memory.ProfileEntry{}, memory.Errorf(memory.NotFound, "the profile has no entry %q", Clip(key, 60))
}

// Contexts returns an owner's contexts, newest first.
func (e *Core) Contexts(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.Context, error) {
	all, err := e.Store.Contexts(ctx, owner, at)
	slices.SortFunc(all, func(a, b memory.Context) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, err
}

// Context returns a context at a time, or [memory.NotFound].
func (e *Core) Context(ctx context.Context, owner memory.Owner, id string, at memory.At) (memory.Context, error) {
	contexts, err := e.Store.Contexts(ctx, owner, at, id)
	if err != nil {
		return memory.Context{}, err
	}
	if len(contexts) == 0 {
		return memory.Context{}, memory.Errorf(memory.NotFound, "there is no context %q", Clip(id, 60))
	}
	return contexts[0], nil
}

// AttachedContexts returns the contexts attached to a conversation, in order of attachment.
func (e *Core) AttachedContexts(ctx context.Context, owner memory.Owner, conversation string) ([]memory.Context, error) {
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{conversation}})
	if err != nil {
		return nil, fmt.Errorf("read attached contexts: %w", err)
	}
	if len(page.Conversations) == 0 {
		return nil, nil
	}
	return e.ContextsByID(ctx, owner, page.Conversations[0].Contexts)
}

// ContextsByID returns the contexts with these ids in this order, without duplicates.
func (e *Core) ContextsByID(ctx context.Context, owner memory.Owner, ids []string) ([]memory.Context, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	contexts, err := e.Store.Contexts(ctx, owner, memory.At{}, ids...)
	if err != nil {
		return nil, fmt.Errorf("read contexts: %w", err)
	}
	slices.SortFunc(contexts, func(a, b memory.Context) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return contexts, nil
}

// ProfileEntry returns one of the [Core.ProfileEntries], or [memory.NotFound].
func (e *Core) ProfileEntry(ctx context.Context, owner memory.Owner, key string, at memory.At) (memory.ProfileEntry, error) {
	if err := CheckNotReserved(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	entries, err := e.ProfileEntries(ctx, owner, at)
	return entryByKey(entries, strings.TrimSpace(key), err)
}

// CheckNotReserved returns an error for keys that only Loci may write, by methods of their own.
func CheckNotReserved(key string) error {
	if strings.HasPrefix(strings.TrimSpace(key), ReservedPrefix) {
		return memory.Errorf(memory.Invalid, "key: %q is reserved for Loci; reserved keys begin with %s", key, ReservedPrefix)
	}
	return nil
}

// AllChanges returns all changes that match a query, newest first.
func (e *Core) AllChanges(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) ([]memory.Change, error) {
	return memory.Collect(memory.AllChanges(ctx, e.Store.Changes, owner, q))
}

// LastChange returns the last change of a target, or the zero Change if it never changed.
func (e *Core) LastChange(ctx context.Context, owner memory.Owner, target string) (memory.Change, error) {
	page, err := e.Store.Changes(ctx, owner, memory.ChangeQuery{Target: target, Limit: 1})
	if err != nil || len(page.Changes) == 0 {
		return memory.Change{}, err
	}
	return page.Changes[0], nil
}

// ComparedStatuses are the statuses of facts with which a candidate is compared: active and pending facts,
// and facts that a person removed, which must not be learned again.
var ComparedStatuses = []memory.Status{memory.Active, memory.Pending, memory.Retired, memory.Rejected}

// IsLexical reports whether an embedder finds no similarity between texts without a common word.
func IsLexical(e memory.Embedder) bool {
	w, ok := e.(interface{ OfWords() bool })
	return ok && w.OfWords()
}

// FindMemories returns the current memories that a search finds. All scopes must have one owner.
func FindMemories(ctx context.Context, e *Core, s memory.Search) ([]memory.Memory, error) {
	s.Now = e.Time()
	candidates, err := e.Searcher.Search(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("search memory: %w", err)
	}
	return e.Store.Get(ctx, s.Scopes[0].Owner, CandidateIDs(candidates)...)
}

// CandidateIDs returns the ids of candidates.
func CandidateIDs(candidates []memory.Candidate) []string {
	ids := make([]string, len(candidates))
	for i := range candidates {
		ids[i] = candidates[i].ID
	}
	return ids
}
