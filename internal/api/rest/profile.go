package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func (d *door) profileOperations(a adder) {
	operation(a, http.MethodGet, "/api/profile", "list-profile", "What is written down about the user by key", d.profile)
	operation(a, http.MethodGet, "/api/profile/{key}", "get-profile-entry", "One entry of the profile", d.profileEntry)
	operation(a, http.MethodPut, "/api/profile/{key}", "put-profile-entry", "Write an entry of the profile", d.putProfileEntry)
	operation(a, http.MethodDelete, "/api/profile/{key}", "delete-profile-entry", "Take an entry out of the profile", d.dropProfileEntry)
}

// ByKey is the key of a profile entry.
type ByKey struct {
	Key string `path:"key" maxLength:"128"`
}

func (d *door) profile(ctx context.Context, in *Then) (*body[client.Profile], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := d.engine.Retrieve.EntriesAt(ctx, owner, in.at())
	if err != nil {
		return nil, err
	}
	out := client.Profile{Entries: make([]client.Entry, 0, len(entries))}
	for _, e := range entries {
		out.Entries = append(out.Entries, entryView(e))
	}
	return answer(out), nil
}

type entryInput struct {
	ByKey
	Then
}

func (d *door) profileEntry(ctx context.Context, in *entryInput) (*body[client.Entry], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	e, err := d.engine.Retrieve.EntryAt(ctx, owner, in.Key, in.at())
	if err != nil {
		return nil, err
	}
	return answer(entryView(e)), nil
}

type putEntryInput struct {
	ByKey
	Body client.SetEntry
}

func (d *door) putProfileEntry(ctx context.Context, in *putEntryInput) (*body[client.Entry], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	e, err := d.engine.Query.PutEntry(ctx, owner, in.Key, in.Body.Value, author)
	if err != nil {
		return nil, err
	}
	return answer(entryView(e)), nil
}

func (d *door) dropProfileEntry(ctx context.Context, in *ByKey) (*body[client.Receipt], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.engine.Query.DropEntry(ctx, owner, in.Key, author)
	if err != nil {
		return nil, err
	}
	return answer(receipt(r)), nil
}

func entryView(e memory.ProfileEntry) client.Entry {
	return client.Entry{Key: e.Key, Value: e.Value, UpdatedAt: e.UpdatedAt, Tokens: e.Tokens}
}
