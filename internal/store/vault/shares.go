package vault

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// A share entry is a profile entry that lists the recipients with whom a fact is shared: its key is
// shareKeyPrefix and the fact's id, its value a JSON list of owners. A share entry has no file: the
// fact's file contains it under recipientsKey, as a list of "user/NAME", "pool/NAME" and "global".
// The recipients' links have no files either.
const (
	shareKeyPrefix = "loci.share."
	recipientsKey  = "shared_with"
)

// factOfShareEntry returns the id of the fact that a share entry shares; ok is false for other targets.
func factOfShareEntry(target string) (id string, ok bool) {
	return strings.CutPrefix(target, profileTarget+shareKeyPrefix)
}

// recipientsProperty returns the property that lists the recipients of a fact.
func (t *fileContent) recipientsProperty() property {
	format := func(linkFunc) string {
		var called []string
		for _, o := range t.recipients() {
			called = append(called, o.DisplayName())
		}
		return yamlList(called)
	}
	return property{recipientsKey, format, func(r *frontReader) {
		var with []memory.Owner
		for _, name := range r.list(recipientsKey) {
			o := parseOwner(t.Fact.Scope.Owner, name)
			if o == "" {
				r.failf("invalid owner %[2]q in %[1]s: list user/NAME, pool/NAME or global, but not the fact's own owner", recipientsKey, name)
			}
			with = append(with, o)
		}
		if t.Shared = sortedOwners(with); r.hasUnknownID() && r.factIDs == nil { // another machine shared the fact, and this machine does not share it
			t.Shared = nil
		}
	}}
}

// recipients returns the owners with whom the fact is shared.
func (t fileContent) recipients() []memory.Owner {
	if t.Shared == nil {
		return nil
	}
	return *t.Shared
}

// sortedOwners sorts owners and drops duplicates; nil for none.
func sortedOwners(owners []memory.Owner) *[]memory.Owner {
	slices.Sort(owners)
	if owners = slices.Compact(owners); len(owners) == 0 {
		return nil
	}
	return &owners
}

// parseOwner parses a recipient in the file of factOwner's fact; it returns "" for an invalid recipient.
func parseOwner(factOwner memory.Owner, text string) memory.Owner {
	var o memory.Owner
	kind, name, _ := strings.Cut(text, "/")
	switch {
	case text == string(memory.GlobalKind):
		o = memory.Global(factOwner.Namespace())
	case kind == string(memory.UserKind):
		o = memory.User(factOwner.Namespace(), name)
	case kind == string(memory.PoolKind):
		o = memory.Pool(factOwner.Namespace(), name)
	}
	if !o.Valid() || o == factOwner {
		return ""
	}
	return o
}

// parseShareEntry parses the value of a share entry and drops invalid owners.
func parseShareEntry(factOwner memory.Owner, value string) []memory.Owner {
	var owners []memory.Owner
	if json.Unmarshal([]byte(value), &owners) != nil {
		return nil
	}
	return slices.DeleteFunc(owners, func(o memory.Owner) bool {
		return !o.Valid() || o == factOwner || o.Namespace() != factOwner.Namespace()
	})
}

// recipientsOf reads the recipients of a fact. The first call reads all share entries.
func (l *loader) recipientsOf(ctx context.Context, f *memory.Fact) (*[]memory.Owner, error) {
	if l.recipients == nil {
		entries, err := l.f.s.Profile(ctx, l.owner, memory.At{})
		if err != nil {
			return nil, err
		}
		l.recipients = map[string][]memory.Owner{}
		for _, e := range entries {
			if id, ok := strings.CutPrefix(e.Key, shareKeyPrefix); ok {
				l.recipients[id] = parseShareEntry(l.owner, e.Value)
			}
		}
	}
	if (fileContent{FileContent: memory.FileContent{Fact: f}}).isErased() {
		return nil, nil
	}
	return sortedOwners(slices.Clone(l.recipients[f.ID])), nil
}

// shareChange returns the change that adds a fact's share entry.
func (t fileContent) shareChange() memory.Change {
	value, _ := json.Marshal(t.recipients()) // names always encode
	entry := memory.ProfileEntry{
		Owner: t.Fact.Scope.Owner, Key: shareKeyPrefix + t.Fact.ID, Value: string(value), Status: memory.Active, UpdatedAt: t.Fact.UpdatedAt,
	}
	return memory.Change{Action: memory.ActionAdd, After: memory.State{Profile: &entry}, NewID: t.Fact.ID, Reason: rebuildReason}
}

// shareJobs returns the job that creates the links for share entries among the changes.
func shareJobs(owner memory.Owner, runID string, changes []memory.Change) []memory.Job {
	var facts []string
	for _, c := range changes {
		if id, ok := factOfShareEntry(c.After.Target()); ok {
			facts = append(facts, id)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return []memory.Job{{ID: "share-" + runID, Owner: owner, Kind: memory.JobShare, Turns: facts}}
}
