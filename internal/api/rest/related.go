package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

const relatedPath = "/api/memory/{id}/related"

func (d memoryAPI) relatedOperations(a adder) {
	owned(a, http.MethodGet, relatedPath, "list-related", "What a fact is related to, both ways", d.related)
	operation(a, http.MethodPost, relatedPath, "relate", "Relate a fact to another", d.relate, created)
	owned(a, http.MethodDelete, relatedPath, "unrelate", "End a relation", d.unrelate)
}

type relatedInput struct {
	ByID
	Then
	Steps int `query:"steps" minimum:"1" maximum:"5" default:"1" doc:"How many relations away, either way round."`
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Most facts."`
}

func (d memoryAPI) related(ctx context.Context, by caller, in *relatedInput) (out client.RelatedMemories, err error) {
	found, err := d.engine.Curate.RelatedAt(ctx, by.owner, in.ID, in.at(), in.Steps, in.Limit+1)
	if err != nil {
		return out, err
	}
	out = client.RelatedMemories{Memories: []client.RelatedMemory{}, Relations: []client.FactRelation{}, More: found.More}
	for i, f := range found.Facts[1:] {
		out.Memories = append(out.Memories, client.RelatedMemory{Memory: client.View(memory.Memory{Fact: &f}), Steps: found.Steps[i+1]})
	}
	for _, r := range found.Relations {
		out.Relations = append(out.Relations, client.FactRelation{From: r.From, To: r.To, Kind: r.Kind, CreatedAt: r.CreatedAt})
	}
	ties, err := d.engine.Curate.FoundRelations(ctx, by.owner, in.ID, in.at())
	if err != nil {
		return out, err
	}
	for _, t := range ties {
		out.Found = append(out.Found, client.FoundRelation{
			FactRelation: client.FactRelation{From: t.From, To: t.To, Kind: t.Kind, CreatedAt: t.CreatedAt}, Memory: client.View(memory.Memory{Fact: &t.Other}),
		})
	}
	return out, nil
}

type relateInput struct {
	ByID
	Body client.RelateRequest
}

type relateOutput struct {
	Status int
	Body   client.MadeRelation
}

func (d memoryAPI) relate(ctx context.Context, in *relateInput) (*relateOutput, error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.engine.Curate.Relate(ctx, owner, in.ID, in.Body.To, in.Body.Kind, author)
	if err != nil {
		return nil, err
	}
	out := &relateOutput{Status: http.StatusCreated, Body: client.MadeRelation{From: in.ID, To: in.Body.To, Kind: in.Body.Kind, Run: r.Run}}
	if r.Run == "" {
		out.Status = http.StatusOK
	}
	return out, nil
}

type unrelateInput struct {
	ByID
	To   string              `query:"to" required:"true" minLength:"1" maxLength:"512" doc:"The other fact's id."`
	Kind memory.RelationKind `query:"kind" required:"true" enum:"same_subject,refines,contradicts,follows"`
}

func (d memoryAPI) unrelate(ctx context.Context, by caller, in *unrelateInput) (client.Receipt, error) {
	return viewed(receipt)(d.engine.Curate.Unrelate(ctx, by.owner, in.ID, in.To, in.Kind, by.author))
}
