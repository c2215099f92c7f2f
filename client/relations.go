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
	To        string              `json:"to" doc:"The fact that it does so to."`
	Kind      memory.RelationKind `json:"kind" enum:"same_subject,refines,contradicts,follows"`
	CreatedAt time.Time           `json:"created_at"`
}

// RelatedMemory is a fact at the end of a relation.
type RelatedMemory struct {
	Memory
	Steps int `json:"steps" doc:"How many relations away."`
}

// RelatedMemories is a fact's related facts.
type RelatedMemories struct {
	Memories  []RelatedMemory `json:"memories" doc:"The nearest first, without the fact that was asked for."`
	Relations []FactRelation  `json:"relations" doc:"Between these and the fact that was asked for, each once."`
	More      bool            `json:"more,omitempty" doc:"There are others still."`
	Found     []FoundRelation `json:"found,omitempty" doc:"Relations that nobody made: what the fact replaced or was replaced by, what waits to replace it, and what else is about the same person or thing."`
}

// FoundRelation is a relation derived from history and text.
type FoundRelation struct {
	FactRelation
	Memory Memory `json:"memory" doc:"The other fact."`
}

// RelatedQuery limits the search. Zero fields take the server's default: one step, 50 facts.
type RelatedQuery struct {
	Steps int `query:"steps"` // relations away, in either direction; at most 5
	Limit int `query:"limit"` // most facts; 200 at most
}

// RelateRequest is a relation to make, from the fact in the path.
type RelateRequest struct {
	To   string              `json:"to" minLength:"1" maxLength:"512" doc:"The other fact's id."`
	Kind memory.RelationKind `json:"kind" enum:"same_subject,refines,contradicts,follows"`
}

// MadeRelation is a stored relation.
type MadeRelation struct {
	From string              `json:"from"`
	To   string              `json:"to"`
	Kind memory.RelationKind `json:"kind"`
	Run  string              `json:"run,omitempty" doc:"To undo it by; left out where they were related so already."`
}

func relatedPath(id string) string { return "/api/memory/" + url.PathEscape(id) + "/related" }

// Related returns a fact's related facts, in both directions.
func (c *Client) Related(ctx context.Context, id string, q RelatedQuery) (RelatedMemories, error) {
	return get[RelatedMemories](ctx, c, relatedPath(id)+queryString(q))
}

// Relate relates a fact to another.
func (c *Client) Relate(ctx context.Context, id string, in RelateRequest) (MadeRelation, error) {
	return post[MadeRelation](ctx, c, relatedPath(id), in)
}

// Unrelate ends a relation.
func (c *Client) Unrelate(ctx context.Context, id string, in RelateRequest) (Receipt, error) {
	q := url.Values{"to": {in.To}, "kind": {string(in.Kind)}}
	return remove[Receipt](ctx, c, relatedPath(id)+"?"+q.Encode())
}
