package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

const relatedPath = "/api/memory/{id}/related"

func (d *door) relatedOperations(a adder) {
	operation(a, http.MethodGet, relatedPath, "list-related", "What a fact is related to, both ways", d.related)
	operation(a, http.MethodPost, relatedPath, "relate", "Relate a fact to another", d.relate, created)
	operation(a, http.MethodDelete, relatedPath, "unrelate", "End a relation", d.unrelate)
}

// FactRelation ties two facts of one user.
type FactRelation struct {
	From      string              `json:"from" doc:"The fact that refines, contradicts or follows."`
	To        string              `json:"to" doc:"The fact that it does so to."`
	Kind      memory.RelationKind `json:"kind" enum:"same_subject,refines,contradicts,follows"`
	CreatedAt time.Time           `json:"created_at"`
}

// RelatedMemory is a fact at the end of a relation.
type RelatedMemory struct {
	client.Memory
	Steps int `json:"steps" doc:"How many relations away."`
}

// RelatedMemories is what a fact is related to.
type RelatedMemories struct {
	Memories  []RelatedMemory `json:"memories" doc:"The nearest first, without the fact that was asked for."`
	Relations []FactRelation  `json:"relations" doc:"Between these and the fact that was asked for, each once."`
	More      bool            `json:"more,omitempty" doc:"There are others still."`
}

type relatedInput struct {
	ByID
	Then
	Steps int `query:"steps" minimum:"1" maximum:"5" default:"1" doc:"How many relations away, either way round."`
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Most facts."`
}

func (d *door) related(ctx context.Context, in *relatedInput) (*body[RelatedMemories], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	found, err := d.engine.RelatedAt(ctx, owner, in.ID, in.at(), in.Steps, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := RelatedMemories{Memories: []RelatedMemory{}, Relations: []FactRelation{}, More: found.More}
	for i, f := range found.Facts[1:] {
		out.Memories = append(out.Memories, RelatedMemory{client.View(memory.Memory{Fact: &f}), found.Steps[i+1]})
	}
	for _, r := range found.Relations {
		out.Relations = append(out.Relations, FactRelation{From: r.From, To: r.To, Kind: r.Kind, CreatedAt: r.CreatedAt})
	}
	return answer(out), nil
}

// RelateRequest is a relation to make, from the fact in the path.
type RelateRequest struct {
	To   string              `json:"to" minLength:"1" maxLength:"512" doc:"The other fact's id."`
	Kind memory.RelationKind `json:"kind" enum:"same_subject,refines,contradicts,follows"`
}

type relateInput struct {
	ByID
	Body RelateRequest
}

// MadeRelation says that two facts are related.
type MadeRelation struct {
	From string              `json:"from"`
	To   string              `json:"to"`
	Kind memory.RelationKind `json:"kind"`
	Run  string              `json:"run,omitempty" doc:"To undo it by; left out where they were related so already."`
}

type relateOutput struct {
	Status int
	Body   MadeRelation
}

func (d *door) relate(ctx context.Context, in *relateInput) (*relateOutput, error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.engine.Relate(ctx, owner, in.ID, in.Body.To, in.Body.Kind, author)
	if err != nil {
		return nil, err
	}
	out := &relateOutput{Status: http.StatusCreated, Body: MadeRelation{From: in.ID, To: in.Body.To, Kind: in.Body.Kind, Run: r.Run}}
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

func (d *door) unrelate(ctx context.Context, in *unrelateInput) (*body[client.Receipt], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.engine.Unrelate(ctx, owner, in.ID, in.To, in.Kind, author)
	if err != nil {
		return nil, err
	}
	return answer(receipt(r)), nil
}
