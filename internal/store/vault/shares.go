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
	sharedEntry = "loci.share."
	sharedKey   = "shared_with"
)

// factOfShareEntry returns the id of the fact that a share entry shares.
func sharedFact(target string) (id string, ok bool) {
	return strings.CutPrefix(target, profileTarget+sharedEntry)
}

// recipientsProperty returns the property that lists the recipients of a fact.
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
				r.failf("invalid owner %[2]q in %[1]s, which is a list of user/NAME, pool/NAME and global, without the fact's own owner", sharedKey, name)
			}
			with = append(with, o)
		}
		if t.Shared = shared(with); r.elsewhere() && r.rebuilt == nil { // another machine shared the fact; this machine does not
			t.Shared = nil
		}
	}}
}

// recipients returns the owners with whom the fact is shared.
func (t thing) sharers() []memory.Owner {
	if t.Shared == nil {
		return nil
	}
	return *t.Shared
}

// sortedOwners sorts owners and drops duplicates; nil for none.
func shared(with []memory.Owner) *[]memory.Owner {
	slices.Sort(with)
	if with = slices.Compact(with); len(with) == 0 {
		return nil
	}
	return &with
}

// parseOwner parses a recipient in the file of home's fact; it returns "" for an invalid recipient.
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

// parseShareEntry parses the value of a share entry and drops invalid owners.
func ownersIn(home memory.Owner, value string) []memory.Owner {
	var with []memory.Owner
	if json.Unmarshal([]byte(value), &with) != nil {
		return nil
	}
	return slices.DeleteFunc(with, func(o memory.Owner) bool {
		return !o.Valid() || o == home || o.Namespace() != home.Namespace()
	})
}

// recipientsOf reads the recipients of a fact. The first call reads all share entries.
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

// shareJobs returns the job that creates the links for share entries among the changes.
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
