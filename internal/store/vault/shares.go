package vault

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// A special profile entry lists the users who share a fact: its key is sharedEntry and the fact's
// id, its value a JSON list of owners. The entry has no own file: the fact's file has it under
// sharedKey, as a list of "user/NAME", "pool/NAME" and "global". The copies are derived from it,
// and have no files either.
const (
	sharedEntry = "loci.share."
	sharedKey   = "shared_with"
)

// sharedFact returns the fact to which a share entry belongs.
func sharedFact(target string) (id string, ok bool) {
	return strings.CutPrefix(target, profileTarget+sharedEntry)
}

// sharedWith is the property that lists the users who share a fact.
func (t *thing) sharedWith() property {
	show := func(names) string {
		var called []string
		for _, o := range t.sharers() {
			called = append(called, o.Called())
		}
		return listed(called)
	}
	return property{sharedKey, show, func(r *reader) {
		var with []memory.Owner
		for _, name := range r.list(sharedKey) {
			o := ownerCalled(t.Fact.Scope.Owner, name)
			if o == "" {
				r.failf("%s is a list of user/NAME, pool/NAME and global, and %q is none that it can be shared with", sharedKey, name)
			}
			with = append(with, o)
		}
		if t.Shared = shared(with); r.elsewhere() && r.rebuilt == nil { // it was shared elsewhere, not here
			t.Shared = nil
		}
	}}
}

// sharers returns the owners who share a fact.
func (t thing) sharers() []memory.Owner {
	if t.Shared == nil {
		return nil
	}
	return *t.Shared
}

// shared sorts owners and drops duplicates; nil for none.
func shared(with []memory.Owner) *[]memory.Owner {
	slices.Sort(with)
	if with = slices.Compact(with); len(with) == 0 {
		return nil
	}
	return &with
}

// ownerCalled parses the name of an owner in a file of by; "" if the name is not valid there.
func ownerCalled(by memory.Owner, text string) memory.Owner {
	var o memory.Owner
	kind, name, _ := strings.Cut(text, "/")
	switch {
	case text == string(memory.GlobalKind):
		o = memory.Global(by.Namespace())
	case kind == string(memory.UserKind):
		o = memory.User(by.Namespace(), name)
	case kind == string(memory.PoolKind):
		o = memory.Pool(by.Namespace(), name)
	}
	if !o.Valid() || o == by {
		return ""
	}
	return o
}

// ownersIn parses the value of a share entry and drops invalid owners.
func ownersIn(home memory.Owner, value string) []memory.Owner {
	var with []memory.Owner
	if json.Unmarshal([]byte(value), &with) != nil {
		return nil
	}
	return slices.DeleteFunc(with, func(o memory.Owner) bool {
		return !o.Valid() || o == home || o.Namespace() != home.Namespace()
	})
}

// sharing reads the owners who share a fact. The first call reads all entries.
func (l *loader) sharing(ctx context.Context, f *memory.Fact) (*[]memory.Owner, error) {
	if l.shares == nil {
		entries, err := l.f.s.Profile(ctx, l.owner, memory.At{})
		if err != nil {
			return nil, err
		}
		l.shares = map[string][]memory.Owner{}
		for _, e := range entries {
			if id, ok := strings.CutPrefix(e.Key, sharedEntry); ok {
				l.shares[id] = ownersIn(l.owner, e.Value)
			}
		}
	}
	if (thing{FileContent: memory.FileContent{Fact: f}}).erased() {
		return nil, nil
	}
	return shared(slices.Clone(l.shares[f.ID])), nil
}

// shareChange returns the change that adds a fact's share entry.
func (t thing) shareChange() memory.Change {
	value, _ := json.Marshal(t.sharers()) // names always encode
	entry := memory.ProfileEntry{
		Owner: t.Fact.Scope.Owner, Key: sharedEntry + t.Fact.ID, Value: string(value), Status: memory.Active, UpdatedAt: t.Fact.UpdatedAt,
	}
	return memory.Change{Action: memory.ActionAdd, After: memory.Image{Profile: &entry}, NewID: t.Fact.ID, Reason: wasInVault}
}

// shareJobs returns the jobs that create the copies of facts which the changes share.
func shareJobs(owner memory.Owner, run string, changes []memory.Change) []memory.Job {
	var facts []string
	for _, c := range changes {
		if id, ok := sharedFact(c.After.Target()); ok {
			facts = append(facts, id)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return []memory.Job{{ID: "share-" + run, Owner: owner, Kind: memory.JobShare, Turns: facts}}
}
