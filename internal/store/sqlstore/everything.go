package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// Everything yields all items, like Since from version 0, but reads only the columns that an index needs:
// facts and turns have only their searched fields, links and summaries all fields. Each item comes with
// its vector in float16 (see [vector.Pack]), or nil.
func (s *Store) Everything(ctx context.Context, owner memory.Owner, model string, yield func(item memory.IndexItem, vector []uint16) error) (version int64, err error) {
	return s.readSince(ctx, owner, sinceRequest{tables: indexTables, model: model, yield: func(k storedItem) error { return yield(k.IndexItem, vector.RowFromBytes(k.vectorData)) }})
}

// indexTables lists the tables of [sinceTables], with only the searched columns of facts and turns.
var indexTables = []memoryTable{
	{facts.name, facts.prefix, `id, project, agent, conversation, content, category, tags, subject, confidence,
		from_conversation, observed_at, updated_at, expires_at, version`, scanSearchedFact},
	links,
	indexTurns,
	summaries,
}

var indexTurns = memoryTable{turns.name, turns.prefix, `id, conversation, project, agent, place, role, name, content, created_at, version`, scanSearchedTurn}

// These functions scan into basic types, since drivers are far slower with defined types.

func scanSearchedFact(owner memory.Owner, row scanner, extraDest ...any) (memory.Memory, error) {
	f := &memory.Fact{Scope: memory.Scope{Owner: owner}, Status: memory.Active}
	var observed, updated, expires int64
	err := row.Scan(append([]any{
		&f.ID, &f.Scope.Project, &f.Scope.Agent, &f.Scope.Conversation, &f.Content, &f.Category, listColumn{&f.Tags}, &f.Subject,
		&f.Confidence, &f.Provenance.Conversation, &observed, &updated, &expires, &f.Version,
	}, extraDest...)...)
	f.ObservedAt, f.UpdatedAt, f.ExpiresAt = fromMicros(observed), fromMicros(updated), fromMicros(expires)
	return memory.Memory{Fact: f}, err
}

func scanSearchedTurn(owner memory.Owner, row scanner, extraDest ...any) (memory.Memory, error) {
	t := &memory.Turn{Owner: owner, Status: memory.Active}
	var role string
	var place, created int64
	err := row.Scan(append([]any{
		&t.ID, &t.Conversation, &t.Project, &t.Agent, &place, &role, &t.Name, &t.Content, &created, &t.Version,
	}, extraDest...)...)
	t.Index, t.Role, t.CreatedAt = int(place), memory.Role(role), fromMicros(created)
	return memory.Memory{Turn: t}, err
}
