package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// Predecessors tells what facts took the place of: see [memory.Lineage].
func (s *Store) Predecessors(ctx context.Context, owner memory.Owner, ids []string) (map[string][]memory.Fact, error) {
	var before map[string][]memory.Fact
	err := s.reads.look(ctx, owner, func(v *view) error {
		before = map[string][]memory.Fact{}
		rows, err := v.query(`SELECT `+factTable.columns+` FROM facts
			WHERE owner = ? AND superseded_by <> '' AND superseded_by IN (SELECT value FROM json_each(?)) AND +status = 'superseded'
			ORDER BY updated_at DESC, id DESC`, listed(ids))
		_, err = collect(rows, err, func(row scanner) (struct{}, error) {
			image, err := factTable.scan(v.owner, row)
			before[image.Fact.SupersededBy] = append(before[image.Fact.SupersededBy], *image.Fact)
			return struct{}{}, err
		})
		return wrap("read what facts took the place of", err)
	})
	return before, err
}

var _ memory.Lineage = (*Store)(nil)

// SupersededBy tells what took the place of what turns taught: see [memory.Lineage].
func (s *Store) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	var next map[string][]string
	err := s.reads.look(ctx, owner, func(v *view) error {
		next = map[string][]string{}
		rows, err := v.query(`SELECT t.turn, `+endedBy+`
			FROM fact_turns t CROSS JOIN facts f
			WHERE f.owner = t.owner AND f.id = t.fact AND t.owner = ? AND t.turn IN (SELECT value FROM json_each(?)) AND (+f.status = 'superseded' OR f.status = 'retired' AND f.valid_to <> 0)
			ORDER BY f.created_at DESC, f.id DESC`, listed(turns))
		_, err = collect(rows, err, func(row scanner) (turn string, err error) {
			var by string
			err = row.Scan(&turn, &by)
			next[turn] = append(next[turn], by)
			return turn, err
		})
		return wrap("read what took the place of facts", err)
	})
	return next, err
}

// endedBy selects the id of what took a fact's place, its own where nothing did.
const endedBy = `CASE f.status WHEN 'superseded' THEN f.superseded_by ELSE f.id END`
