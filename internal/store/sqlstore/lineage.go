package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Predecessors tells what facts took the place of: see [memory.Lineage].
func (s *Store) Predecessors(ctx context.Context, owner memory.Owner, ids []string) (map[string][]memory.Fact, error) {
	if err := errors.Join(checkOwner(owner), ctx.Err()); err != nil {
		return nil, err
	}
	before, known, commits := s.known.factCache.predecessors(owner, ids)
	if known {
		return before, nil
	}
	err := s.reads.look(ctx, owner, func(v *view) error {
		before = map[string][]memory.Fact{}
		rows, err := v.query(`SELECT `+facts.columns+` FROM facts
			WHERE owner = ? AND superseded_by <> '' AND superseded_by IN (SELECT value FROM json_each(?)) AND +status = 'superseded'
			ORDER BY updated_at DESC, id DESC`, listed(ids))
		_, err = collect(rows, err, func(row scanner) (struct{}, error) {
			f, err := scanFact(v.owner, row)
			if err == nil {
				before[f.SupersededBy] = append(before[f.SupersededBy], *f)
			}
			return struct{}{}, err
		})
		return wrap("read what facts took the place of", err)
	})
	if err == nil {
		s.known.factCache.learnBefore(owner, ids, before, commits)
	}
	return before, err
}

var _ memory.Lineage = (*Store)(nil)

// SupersededBy tells what took the place of what turns taught: see [memory.Lineage].
func (s *Store) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	if err := errors.Join(checkOwner(owner), ctx.Err()); err != nil {
		return nil, err
	}
	next, known, commits := s.known.factCache.supersededBy(owner, turns)
	if known {
		return next, nil
	}
	all := false
	err := s.reads.look(ctx, owner, func(v *view) (err error) {
		if all = s.known.factCache.few(owner); all {
			if next, all, err = v.superseded(); all || err != nil {
				return err
			}
		}
		next, err = v.supersededOf(turns)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case all:
		s.known.factCache.learnAll(owner, next, commits)
		next = of(next, turns)
	default:
		s.known.factCache.learnNext(owner, turns, next, commits)
	}
	return next, nil
}

// of returns copies of those of some turns.
func of(next map[string][]string, turns []string) map[string][]string {
	out := map[string][]string{}
	for _, turn := range turns {
		if ids := next[turn]; len(ids) > 0 {
			out[turn] = slices.Clone(ids)
		}
	}
	return out
}

// endedBy selects the id of what took a fact's place, its own where nothing did.
const endedBy = `CASE f.status WHEN 'superseded' THEN f.superseded_by ELSE f.id END`

// superseded reads what took the place of an owner's facts, by the turns that taught them,
// if they are few.
func (v *view) superseded() (next map[string][]string, all bool, err error) {
	next = map[string][]string{}
	rows, err := v.query(`SELECT f.from_turns, `+endedBy+` FROM facts f WHERE f.owner = ? AND f.status IN ('superseded', 'retired')
		AND (f.status = 'superseded' OR f.valid_to <> 0) ORDER BY f.created_at DESC, f.id DESC LIMIT ?`, maxSettledFacts+1)
	found, err := collect(rows, err, func(row scanner) (turns []string, err error) {
		var by string
		err = row.Scan(asList{&turns}, &by)
		for i, turn := range turns {
			if !slices.Contains(turns[:i], turn) {
				next[turn] = append(next[turn], by)
			}
		}
		return turns, err
	})
	return next, len(found) <= maxSettledFacts, wrap("read what took the place of facts", err)
}

// supersededOf reads it of some turns.
func (v *view) supersededOf(turns []string) (map[string][]string, error) {
	next := map[string][]string{}
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
	return next, wrap("read what took the place of facts", err)
}
