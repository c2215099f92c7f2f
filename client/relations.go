package client

import (
	"context"
	"net/url"
	"time"

	"github.com/loci-memory/loci/memory"
)

// FactRelation is a relation between two facts of a user.
type FactRelation struct {
	From      string              `json:"from" doc:"The fact that refines, contradicts or follows."`
	To        string              `json:"to" doc:"The fact that is refined, contradicted or followed."`
	Kind      memory.RelationKind `json:"kind" enum:"same_subject,refines,contradicts,follows"`
	CreatedAt time.Time           `json:"created_at"`
}

// RelatedMemory is a fact that relations connect with the requested fact.
type RelatedMemory struct {
	Memory
	Steps int `json:"steps" doc:"Number of relations between this fact and the requested fact."`
}

// RelatedMemories lists a fact's related facts.
type RelatedMemories struct {
	Memories  []RelatedMemory `json:"memories" doc:"Related facts, nearest first, without the requested fact."`
	Relations []FactRelation  `json:"relations" doc:"Relations among these facts and the requested fact, each once."`
	HasMore   bool            `json:"more,omitempty" doc:"Whether there are more related facts."`
	Derived   []FoundRelation `json:"found,omitempty" doc:"Derived relations: facts that this fact replaced, its replacement, pending replacements, and other facts about the same person or thing."`
}

// FoundRelation is a relation that Loci derives from the history and the text of facts.
type FoundRelation struct {
	FactRelation
	Memory Memory `json:"memory" doc:"The other fact."`
}

// RelatedQuery limits the returned related facts. Zero fields mean the server's defaults: 1 step, 50 facts.
type RelatedQuery struct {
	Steps int `query:"steps"` // maximum number of relations from the requested fact to a related fact, in either direction; at most 5
	Limit int `query:"limit"` // maximum number of related facts; at most 200
}

// RelateRequest describes a relation from the fact in the request's path to another fact.
type RelateRequest struct {
	To   string              `json:"to" minLength:"1" maxLength:"512" doc:"The other fact's id."`
	Kind memory.RelationKind `json:"kind" enum:"same_subject,refines,contradicts,follows"`
}

// MadeRelation is a stored relation.
type MadeRelation struct {
	From string              `json:"from"`
	To   string              `json:"to"`
	Kind memory.RelationKind `json:"kind"`
	Run  string              `json:"run,omitempty" doc:"Id of the run, to undo the change; missing if the relation existed already."`
}

func relatedPath(id string) string { return "/api/memory/" + url.PathEscape(id) + "/related" }

// Related returns the facts related to a fact, in both directions.
func (c *Client) Related(ctx context.Context, id string, q RelatedQuery) (RelatedMemories, error) {
	return get[RelatedMemories](ctx, c, relatedPath(id)+queryString(q))
}

// Relate creates a relation from one fact to another.
func (c *Client) Relate(ctx context.Context, id string, in RelateRequest) (MadeRelation, error) {
	return post[MadeRelation](ctx, c, relatedPath(id), in)
}

// Unrelate removes a relation.
func (c *Client) Unrelate(ctx context.Context, id string, in RelateRequest) (Receipt, error) {
	q := url.Values{"to": {in.To}, "kind": {string(in.Kind)}}
	return remove[Receipt](ctx, c, relatedPath(id)+"?"+q.Encode())
}
