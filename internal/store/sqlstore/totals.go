package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// countCost is up to what cost, as its planner reckons it, a server is asked to count: a
// page read in order costs 1, so that this is some 40 MB. What costs more it estimates from
// its statistics, which autovacuum keeps: the totals are asked for at each scrape of the
// metrics.
const countCost = 5000

// counted is what [memory.Counts] counts over all owners, one query for each table and
// condition, and where its count is added.
var counted = []struct {
	rows string
	of   func(*memory.Counts) *int
}{
	{`facts WHERE status = 'active'`, func(n *memory.Counts) *int { return &n.Facts }},
	{`links WHERE status = 'active' AND fact_status = 'active'`, func(n *memory.Counts) *int { return &n.Facts }},
	{`facts WHERE status = 'pending'`, func(n *memory.Counts) *int { return &n.Pending }},
	{`links WHERE status = 'pending' OR status = 'active' AND fact_status = 'pending'`, func(n *memory.Counts) *int { return &n.Pending }},
	{`turns WHERE status = 'active'`, func(n *memory.Counts) *int { return &n.Turns }},
	{`summaries WHERE status = 'active'`, func(n *memory.Counts) *int { return &n.Summaries }},
	{`conversations WHERE status = 'active'`, func(n *memory.Counts) *int { return &n.Conversations }},
	{`contexts WHERE status = 'active'`, func(n *memory.Counts) *int { return &n.Contexts }},
	{`journal`, func(n *memory.Counts) *int { return &n.Changes }},
	{`jobs WHERE state = 'queued'`, func(n *memory.Counts) *int { return &n.JobsQueued }},
	{`jobs WHERE state = 'parked'`, func(n *memory.Counts) *int { return &n.JobsParked }},
}

// roughTotals is [Store.Totals] of a server: what costs more to count is estimated.
func (s *Store) roughTotals(ctx context.Context, cost float64) (memory.Counts, error) {
	var n memory.Counts
	for _, c := range counted {
		var rows int
		err := s.reads.again(ctx, func() error {
			p, err := s.plan(ctx, c.rows)
			if rows = int(p.Rows); err != nil || p.Cost > cost {
				return err
			}
			found, err := s.reads.ask(ctx, `SELECT (SELECT COUNT(*) FROM `+c.rows+`)`)
			return only(found, err, &rows)
		})
		if err != nil {
			return memory.Counts{}, fmt.Errorf("count %s: %w", c.rows, err)
		}
		*c.of(&n) += rows
	}
	return n, nil
}

// plan is what a server expects of a query.
type plan struct {
	Rows float64 `json:"Plan Rows"`
	Cost float64 `json:"Total Cost"`
}

// plan asks for the plan to read rows, which reads none.
func (s *Store) plan(ctx context.Context, rows string) (plan, error) {
	found, err := s.reads.ask(ctx, `EXPLAIN (FORMAT JSON) SELECT 1 FROM `+rows)
	var text string
	if err := only(found, err, &text); err != nil {
		return plan{}, err
	}
	var plans []struct{ Plan plan }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		return plan{}, fmt.Errorf("read a plan: %w", err)
	}
	if len(plans) != 1 {
		return plan{}, fmt.Errorf("there are %d plans for %s", len(plans), rows)
	}
	return plans[0].Plan, nil
}
