package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// ByKey is the path parameter with a profile entry's key.
type ByKey struct {
	Key string `path:"key" maxLength:"128"`
}

type entryInput struct {
	ByKey
	ReadTime
}

type putEntryInput struct {
	ByKey
	Body client.SetEntry
}

func (d *handler) addProfileOperations(a registrar) {
	registerForCaller(a, http.MethodGet, "/api/core", "get-core", "Show the core: facts and profile entries with which every conversation begins", func(ctx context.Context, by caller, _ *struct{}) (client.Core, error) {
		in, omitted, budget, err := d.engine.Retrieve.OpeningFacts(ctx, memory.Scope{Owner: by.owner})
		return client.Core{
			Tokens: in.Tokens(), Budget: budget, Facts: mapSlice(in.Facts, coreFactView), OverBudget: mapSlice(omitted.Facts, coreFactView), Profile: mapSlice(in.Profile, entryView),
		}, err
	})
	registerForCaller(a, http.MethodGet, "/api/profile", "list-profile", "List the profile: values about the user by key", func(ctx context.Context, by caller, in *ReadTime) (client.Profile, error) {
		entries, err := d.engine.ProfileEntries(ctx, by.owner, in.at())
		return client.Profile{Entries: mapSlice(entries, entryView)}, err
	})
	registerForCaller(a, http.MethodGet, "/api/profile/{key}", "get-profile-entry", "Get one entry of the profile", func(ctx context.Context, by caller, in *entryInput) (client.Entry, error) {
		return mapResult(entryView)(d.engine.ProfileEntry(ctx, by.owner, in.Key, in.at()))
	})
	registerForCaller(a, http.MethodPut, "/api/profile/{key}", "put-profile-entry", "Set an entry of the profile", func(ctx context.Context, by caller, in *putEntryInput) (client.Entry, error) {
		return mapResult(entryView)(d.engine.Query.SetEntry(ctx, by.owner, in.Key, in.Body.Value, by.author))
	})
	registerForCaller(a, http.MethodDelete, "/api/profile/{key}", "delete-profile-entry", "Delete an entry of the profile", func(ctx context.Context, by caller, in *ByKey) (client.Receipt, error) {
		return mapResult(receiptView)(d.engine.Query.RetireEntry(ctx, by.owner, in.Key, by.author))
	})
}

func coreFactView(f recall.CoreFact) client.CoreFact {
	return client.CoreFact{Memory: client.View(f.Memory), Heading: f.Heading.String(), Why: f.Reason()}
}

func entryView(e memory.ProfileEntry) client.Entry {
	return client.Entry{Key: e.Key, Value: e.Value, UpdatedAt: e.UpdatedAt, Tokens: e.Tokens}
}
