package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// Predecessors returns the facts that each fact replaced: see [memory.Lineage].
func (s *Store) Predecessors(ctx context.Context, owner memory.Owner, ids []string) (map[string][]memory.Fact, error) {
	found, err := queryOwner(ctx, s.reader, owner, `SELECT `+factTable.columns+` FROM facts
		WHERE owner = ? AND superseded_by <> '' AND superseded_by IN (SELECT value FROM json_each(?)) AND +status = 'superseded'
		ORDER BY updated_at DESC, id DESC`, []any{textList(ids)}, func(row scanner) (memory.State, error) { return factTable.scan(owner, row) })
	before := map[string][]memory.Fact{}
	for _, i := range found {
		before[i.Fact.SupersededBy] = append(before[i.Fact.SupersededBy], *i.Fact)
	}
	return before, wrap("read the predecessors of facts", err)
}

var _ memory.Lineage = (*Store)(nil)

// SupersededBy returns the replacements of facts learned from turns: see [memory.Lineage].
func (s *Store) SupersededBy(ctx context.Context, owner memory.Owner, turnIDs []string) (map[string][]string, error) {
	type pair struct{ turn, by string }
	found, err := queryOwner(ctx, s.reader, owner, `SELECT t.turn, `+replacementID+`
		FROM fact_turns t CROSS JOIN facts f
		WHERE f.owner = t.owner AND f.id = t.fact AND t.owner = ? AND t.turn IN (SELECT value FROM json_each(?)) AND (+f.status = 'superseded' OR f.status = 'retired' AND f.valid_to <> 0)
		ORDER BY f.created_at DESC, f.id DESC`, []any{textList(turnIDs)}, func(row scanner) (p pair, err error) {
		err = row.Scan(&p.turn, &p.by)
		return p, err
	})
	next := map[string][]string{}
	for _, p := range found {
		next[p.turn] = append(next[p.turn], p.by)
	}
	return next, wrap("read the replacements of facts", err)
}

// replacementID is the SQL expression for the id of the fact that replaced f, or f's own id if none did.
const replacementID = `CASE f.status WHEN 'superseded' THEN f.superseded_by ELSE f.id END`
