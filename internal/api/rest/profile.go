package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

func (d learningAPI) profileOperations(a adder) {
	owned(a, http.MethodGet, "/api/core", "get-core", "What a conversation begins with: who the user is", d.core)
	owned(a, http.MethodGet, "/api/profile", "list-profile", "What is written down about the user by key", d.profile)
	owned(a, http.MethodGet, "/api/profile/{key}", "get-profile-entry", "One entry of the profile", d.profileEntry)
	owned(a, http.MethodPut, "/api/profile/{key}", "put-profile-entry", "Write an entry of the profile", d.putProfileEntry)
	owned(a, http.MethodDelete, "/api/profile/{key}", "delete-profile-entry", "Take an entry out of the profile", d.dropProfileEntry)
}

// ByKey is the key of a profile entry.
type ByKey struct {
	Key string `path:"key" maxLength:"128"`
}

func (d learningAPI) profile(ctx context.Context, by caller, in *Then) (out client.Profile, err error) {
	entries, err := d.engine.Retrieve.EntriesAt(ctx, by.owner, in.at())
	if err != nil {
		return out, err
	}
	return client.Profile{Entries: each(entries, entryView)}, nil
}

func (d learningAPI) core(ctx context.Context, by caller, _ *struct{}) (out client.Core, err error) {
	in, left, budget, err := d.engine.Retrieve.Standing(ctx, memory.Scope{Owner: by.owner})
	return client.Core{
		Tokens: in.Tokens(), Budget: budget, Facts: each(in.Facts, coreFact), Left: each(left.Facts, coreFact), Profile: each(in.Profile, entryView),
	}, err
}

func coreFact(f recall.CoreFact) client.CoreFact {
	return client.CoreFact{Memory: client.View(f.Memory), Heading: f.Heading.String(), Why: f.WhyTold()}
}

type entryInput struct {
	ByKey
	Then
}

func (d learningAPI) profileEntry(ctx context.Context, by caller, in *entryInput) (client.Entry, error) {
	return viewed(entryView)(d.engine.Retrieve.EntryAt(ctx, by.owner, in.Key, in.at()))
}

type putEntryInput struct {
	ByKey
	Body client.SetEntry
}

func (d learningAPI) putProfileEntry(ctx context.Context, by caller, in *putEntryInput) (client.Entry, error) {
	return viewed(entryView)(d.engine.Query.PutEntry(ctx, by.owner, in.Key, in.Body.Value, by.author))
}

func (d learningAPI) dropProfileEntry(ctx context.Context, by caller, in *ByKey) (client.Receipt, error) {
	return viewed(receipt)(d.engine.Query.DropEntry(ctx, by.owner, in.Key, by.author))
}

func entryView(e memory.ProfileEntry) client.Entry {
	return client.Entry{Key: e.Key, Value: e.Value, UpdatedAt: e.UpdatedAt, Tokens: e.Tokens}
}
