package sqlstore

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// countsQuery selects the columns of [memory.Counts]; %[1]s is a condition on the owner, "" for all.
const countsQuery = `SELECT
	(SELECT COUNT(*) FROM facts WHERE %[1]s status = 'active')
		+ (SELECT COUNT(*) FROM links WHERE %[1]s status = 'active' AND fact_status = 'active'),
	(SELECT COUNT(*) FROM facts WHERE %[1]s status = 'pending')
		+ (SELECT COUNT(*) FROM links WHERE %[1]s (status = 'pending' OR status = 'active' AND fact_status = 'pending')),
	(SELECT COUNT(*) FROM turns WHERE %[1]s status = 'active'),
	(SELECT COUNT(*) FROM summaries WHERE %[1]s status = 'active'),
	(SELECT COUNT(*) FROM conversations WHERE %[1]s status = 'active'),
	(SELECT COUNT(*) FROM contexts WHERE %[1]s status = 'active'),
	(SELECT COUNT(*) FROM journal WHERE %[1]s true), ` + backlogColumns

// backlogColumns are the columns of countsQuery about jobs. They are cheap: indexes answer them.
const backlogColumns = `
	(SELECT COUNT(*) FROM jobs WHERE %[1]s state = 'queued'),
	(SELECT COUNT(*) FROM jobs WHERE %[1]s state = 'parked'),
	(SELECT COALESCE(MIN(run_at), 0) FROM jobs WHERE %[1]s state = 'queued')`

// Counts returns an owner's counts: see [memory.Facts].
func (s *Store) Counts(ctx context.Context, owner memory.Owner) (memory.Counts, error) {
	return firstCounts(queryOwner(ctx, s.reader, owner, fmt.Sprintf(countsQuery, `owner = ?1 AND`), nil, scanCounts))
}

// Totals returns the counts over all owners: see [memory.Facts].
func (s *Store) Totals(ctx context.Context) (memory.Counts, error) {
	return firstCounts(queryAll(ctx, s.reader, fmt.Sprintf(countsQuery, ``), nil, scanCounts))
}

// Backlog returns only the counts of jobs, over all owners.
func (s *Store) Backlog(ctx context.Context) (memory.Counts, error) {
	return firstCounts(queryAll(ctx, s.reader, fmt.Sprintf(`SELECT`+backlogColumns, ``), nil, func(row scanner) (n memory.Counts, err error) {
		var due int64
		err = row.Scan(&n.JobsQueued, &n.JobsParked, &due)
		n.JobsDue = fromMicros(due)
		return n, err
	}))
}

func scanCounts(row scanner) (n memory.Counts, err error) {
	var due int64
	err = row.Scan(&n.Facts, &n.Pending, &n.Turns, &n.Summaries, &n.Conversations, &n.Contexts, &n.Changes, &n.JobsQueued, &n.JobsParked, &due)
	n.JobsDue = fromMicros(due)
	return n, err
}

func firstCounts(rows []memory.Counts, err error) (memory.Counts, error) {
	if err != nil {
		return memory.Counts{}, fmt.Errorf("count: %w", err)
	}
	return rows[0], nil
}
