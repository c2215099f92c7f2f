package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

const relatedPath = "/api/memory/{id}/related"

type relatedInput struct {
	ByID
	ReadTime
	Steps int `query:"steps" minimum:"1" maximum:"5" default:"1" doc:"Maximum number of relations between the facts, in either direction."`
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of facts."`
}

type relateInput struct {
	ByID
	Body client.RelateRequest
}

type relateOutput struct {
	Status int
	Body   client.MadeRelation
}

type unrelateInput struct {
	ByID
	To   string              `query:"to" required:"true" minLength:"1" maxLength:"512" doc:"The other fact's id."`
	Kind memory.RelationKind `query:"kind" required:"true" enum:"same_subject,refines,contradicts,follows"`
}

func (d *handler) addRelatedOperations(a registrar) {
	registerForCaller(a, http.MethodGet, relatedPath, "list-related", "List related facts, in both directions", func(ctx context.Context, by caller, in *relatedInput) (out client.RelatedMemories, err error) {
		found, err := d.engine.Curate.RelatedFacts(ctx, by.owner, in.ID, in.at(), in.Steps, in.Limit+1)
		if err != nil {
			return out, err
		}
		out = client.RelatedMemories{Memories: []client.RelatedMemory{}, Relations: mapSlice(found.Relations, relationView), HasMore: found.HasMore}
		for i, f := range found.Facts[1:] {
			out.Memories = append(out.Memories, client.RelatedMemory{Memory: factView(f), Steps: found.Distances[i+1]})
		}
		derived, err := d.engine.Curate.DerivedRelations(ctx, by.owner, in.ID, in.at())
		if len(derived) > 0 {
			out.Derived = mapSlice(derived, func(t curate.DerivedRelation) client.FoundRelation {
				return client.FoundRelation{FactRelation: relationView(t.Relation), Memory: factView(t.OtherFact)}
			})
		}
		return out, err
	})
	register(a, http.MethodPost, relatedPath, "relate", "Relate a fact to another", func(ctx context.Context, in *relateInput) (*relateOutput, error) {
		by, err := callerOf(ctx)
		if err != nil {
			return nil, err
		}
		r, err := d.engine.Curate.Relate(ctx, by.owner, in.ID, in.Body.To, in.Body.Kind, by.author)
		out := &relateOutput{Status: http.StatusCreated, Body: client.MadeRelation{From: in.ID, To: in.Body.To, Kind: in.Body.Kind, Run: r.Run}}
		if r.Run == "" {
			out.Status = http.StatusOK
		}
		return out, err
	}, withStatusCreated)
	registerForCaller(a, http.MethodDelete, relatedPath, "unrelate", "End a relation", func(ctx context.Context, by caller, in *unrelateInput) (client.Receipt, error) {
		return mapResult(receiptView)(d.engine.Curate.Unrelate(ctx, by.owner, in.ID, in.To, in.Kind, by.author))
	})
}

func relationView(r memory.Relation) client.FactRelation {
	return client.FactRelation{From: r.From, To: r.To, Kind: r.Kind, CreatedAt: r.CreatedAt}
}
