package markdown

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

// TestCrashAroundSQLite kills vaults between commit and journal, and between files
// and their index.
func TestCrashAroundSQLite(t *testing.T) {
	crash(t, func(path string) Within { return inSQLite(path + ".db") }, func(s *Store) memory.Store { return s })
}

// TestCrashAroundMemory kills vaults whose store within is gone with the process:
// the journal alone has what was acknowledged.
func TestCrashAroundMemory(t *testing.T) {
	crash(t, func(string) Within { return inMemory }, func(s *Store) memory.Store { return derived{s} })
}

func crash(t *testing.T, within func(path string) Within, as func(*Store) memory.Store) {
	storetest.RunCrash(t, storetest.Crash{
		Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
			s, err := Open(context.Background(), path, within(path), Options{Now: now, failpoint: func(string) { point() }})
			if err != nil {
				return nil, err
			}
			return as(s), nil
		},
	})
}

// derived makes anew what no journal keeps: vectors, and jobs that are done.
type derived struct{ *Store }

func (d derived) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	return d.Store.Since(ctx, owner, model, after, func(i memory.Item) error {
		if !i.Removed && (i.Memory.Fact != nil || i.Memory.Turn.Role == memory.RoleUser) {
			i.Vector = memtest.Embed(i.Memory.Content())
		}
		return yield(i)
	})
}

func (d derived) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	jobs, err := d.Store.Jobs(ctx, owner, states...)
	if err != nil || !slices.Contains(states, memory.JobDone) {
		return jobs, err
	}
	turns, err := d.Turns(ctx, owner, memory.TurnQuery{})
	for _, t := range turns {
		if j := memtest.Job(owner, memory.JobLearn, t.ID); !t.LearnedAt.IsZero() {
			j.State = memory.JobDone
			jobs = append(jobs, j)
		}
	}
	return jobs, err
}
